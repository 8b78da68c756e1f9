// Count the elements that a graph itself added up to a version, by kind and source.
// Takes: graph, version.
// Returns: kind (task, subgoal, state, transition, success), source (text, empty where there is none), n.
CALL () {
  MATCH (t:Task {graph: $graph}) WHERE t.key IS NOT NULL AND t.since <= $version AND NOT t.inherited
  RETURN 'task' AS kind, '' AS source, count(*) AS n
  UNION ALL
  MATCH (t:Task {graph: $graph}) WHERE t.key IS NOT NULL AND t.since <= $version AND NOT t.inherited
  RETURN 'subgoal' AS kind, '' AS source, sum(COUNT { (t)-[:HAS_SUBGOAL]->() }) AS n
  UNION ALL
  MATCH (s:State {graph: $graph}) WHERE s.task IS NOT NULL AND s.since <= $version AND NOT s.inherited
  RETURN 'state' AS kind, s.source AS source, count(*) AS n
  UNION ALL
  MATCH ()-[e:TRANSITION {graph: $graph}]->() WHERE e.task IS NOT NULL AND e.since <= $version AND NOT e.inherited
  RETURN 'transition' AS kind, e.source AS source, count(*) AS n
  UNION ALL
  MATCH (w:Success {graph: $graph}) WHERE w.key IS NOT NULL AND w.since <= $version
  RETURN 'success' AS kind, '' AS source, count(*) AS n
}
RETURN kind, source, n

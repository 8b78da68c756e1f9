// What a graph itself gained in a span of versions, by task and subgoal; transitions count where they start.
// Takes: graph, after (version before the span), upto (last version of the span).
// Returns: kind (task, state, transition), task, index, description, n.
CALL () {
  MATCH (t:Task {graph: $graph})
  WHERE t.key IS NOT NULL AND t.since > $after AND t.since <= $upto AND NOT t.inherited
  RETURN 'task' AS kind, t.key AS task, 0 AS index, '' AS description, count(*) AS n
  UNION ALL
  MATCH (s:State {graph: $graph})
  WHERE s.task IS NOT NULL AND s.since > $after AND s.since <= $upto AND NOT s.inherited
  MATCH (s)-[:MEMBER_OF]->(m:Subgoal)
  RETURN 'state' AS kind, s.task AS task, m.index AS index, m.description AS description, count(*) AS n
  UNION ALL
  MATCH (s)-[e:TRANSITION {graph: $graph}]->()
  WHERE e.task IS NOT NULL AND e.since > $after AND e.since <= $upto AND NOT e.inherited
  MATCH (s)-[:MEMBER_OF]->(m:Subgoal)
  RETURN 'transition' AS kind, e.task AS task, m.index AS index, m.description AS description, count(*) AS n
}
RETURN kind, task, index, description, n

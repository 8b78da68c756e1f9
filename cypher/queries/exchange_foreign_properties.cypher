// Properties that somebody else put on elements of a graph, which no exchange file has a place for.
// Takes: graph, task, subgoal, state, transition (lists of the names that are ours).
// Returns: kind (label or type), property, n (elements that carry it).
CALL () {
  MATCH (t:Task {graph: $graph}) WHERE t.key IS NOT NULL
  UNWIND [p IN keys(t) WHERE NOT p IN $task] AS property
  RETURN 'Task' AS kind, property, count(*) AS n
UNION ALL
  MATCH (m:Subgoal {graph: $graph}) WHERE m.key IS NOT NULL
  UNWIND [p IN keys(m) WHERE NOT p IN $subgoal] AS property
  RETURN 'Subgoal' AS kind, property, count(*) AS n
UNION ALL
  MATCH (s:State {graph: $graph}) WHERE s.key IS NOT NULL
  UNWIND [p IN keys(s) WHERE NOT p IN $state] AS property
  RETURN 'State' AS kind, property, count(*) AS n
UNION ALL
  MATCH ()-[e:TRANSITION {graph: $graph}]->() WHERE e.key IS NOT NULL
  UNWIND [p IN keys(e) WHERE NOT p IN $transition] AS property
  RETURN 'TRANSITION' AS kind, property, count(*) AS n
}
RETURN kind, property, n

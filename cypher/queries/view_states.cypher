// States of a subgoal, or one state, for the object view: the initial one first, then as they came.
// Takes: graph, base (name or null), base_version, subgoal (key, or null with state), state (key, or null), limit.
// Returns: graph (where the state lives), key, name, facts, initial, source, since.
CALL () {
  MATCH (s:State)-[:MEMBER_OF]->(:Subgoal {graph: $graph, key: $subgoal}) WHERE NOT s.inherited
  RETURN s
UNION ALL
  MATCH (s:State)-[:MEMBER_OF]->(:Subgoal {graph: $base, key: $subgoal}) WHERE s.since <= $base_version
  RETURN s
UNION ALL
  MATCH (s:State {graph: $graph, key: $state}) WHERE NOT s.inherited
  RETURN s
UNION ALL
  MATCH (s:State {graph: $base, key: $state}) WHERE s.since <= $base_version
  RETURN s
}
RETURN s.graph AS graph, s.key AS key, s.name AS name, s.facts AS facts, s.initial AS initial,
       s.source AS source, s.since AS since
ORDER BY initial DESC, graph <> coalesce($base, $graph), since, key
LIMIT $limit

// Transitions that leave a state, for the object view. Support that a layer adds to a transition of its base counts.
// Takes: graph, base (name or null), base_version, state (key), limit.
// Returns: graph (where the transition lives), key, action, source, since, support, target (a state as a map).
CALL () {
  MATCH (:State {graph: $graph, key: $state})-[e:TRANSITION]->(s:State)
  RETURN e, s
UNION ALL
  MATCH (:State {graph: $base, key: $state})-[e:TRANSITION]->(s:State) WHERE e.since <= $base_version
  RETURN e, s
}
WITH e.key AS key, collect([e, s]) AS ends, sum(e.support) AS support
WITH key, support, coalesce([end IN ends WHERE NOT end[0].inherited][0], ends[0]) AS end
WITH key, support, end[0] AS e, end[1] AS s
RETURN e.graph AS graph, key, e.action AS action, e.source AS source, e.since AS since, support,
       s {.graph, .key, .name, .facts, .initial, .source, .since} AS target
ORDER BY support DESC, action, key
LIMIT $limit

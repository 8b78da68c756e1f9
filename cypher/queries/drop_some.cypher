// Remove some nodes of a graph that is being dropped; at last the graph itself, when nothing else of it is left.
// Takes: graph, limit (whole number of nodes of each kind).
// Returns: nodes, relationships (counts), gone (the graph is removed); no row when there is no such graph.
MATCH (g:ARG {name: $graph})
SET g.locked = true
WITH g
CALL () {
  MATCH (s:State {graph: $graph}) WHERE s.key IS NOT NULL
  WITH s LIMIT $limit
  RETURN collect(s) AS states
}
WITH g, states, CASE WHEN size(states) < $limit THEN 1 ELSE 0 END AS further
CALL (further) {
  CALL () {
    MATCH (n:Subgoal {graph: $graph}) WHERE n.key IS NOT NULL RETURN n
    UNION ALL
    MATCH (n:Task {graph: $graph}) WHERE n.key IS NOT NULL RETURN n
    UNION ALL
    MATCH (n:Success {graph: $graph}) WHERE n.key IS NOT NULL RETURN n
    UNION ALL
    MATCH (n:Version {graph: $graph}) WHERE n.k IS NOT NULL RETURN n
  }
  WITH n, further LIMIT $limit
  WITH n, further WHERE further = 1
  RETURN collect(n) AS others
}
WITH g, states + others AS doomed, further = 1 AND size(others) < $limit AS gone
WITH doomed + CASE WHEN gone THEN [g] ELSE [] END AS doomed, gone
WITH doomed, gone, size(doomed) AS nodes,
     COUNT { UNWIND doomed AS n MATCH (n)-[r]-() RETURN DISTINCT r } AS relationships
FOREACH (n IN doomed | DETACH DELETE n)
RETURN nodes, relationships, gone

// Remove what attached rollouts would leave behind in a graph that has none any more: after states were forgotten behind
// their back.
// Takes: graph.
// Returns: n (nodes removed).
CALL () {
  MATCH ()-[d:DETOUR {graph: $graph}]->() WHERE d.key IS NOT NULL
  DELETE d
}
MATCH (p:Stray {graph: $graph}) WHERE p.key IS NOT NULL
DETACH DELETE p
RETURN count(p) AS n

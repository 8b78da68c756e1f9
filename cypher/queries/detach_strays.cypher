// Remove states off the graph that no rollout reaches any more; the caller holds the lock of the graph.
// Takes: graph, keys (list of keys of such states).
// Returns: n (how many).
UNWIND $keys AS key
MATCH (p:Stray {graph: $graph, key: key}) WHERE NOT EXISTS { (p)<--(:Rollout) }
DETACH DELETE p
RETURN count(p) AS n

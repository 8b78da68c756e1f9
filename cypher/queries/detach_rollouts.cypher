// Remove rollouts and their steps; the caller holds the lock of the graph.
// Takes: graph, keys (list of keys of rollouts).
// Returns: steps (relationships removed), strays (keys of the states off the graph that they had reached).
UNWIND $keys AS key
MATCH (r:Rollout {graph: $graph, key: key})
OPTIONAL MATCH (r)-[s]->(p)
WITH r, count(s) AS steps, collect(DISTINCT CASE WHEN p:Stray THEN p.key END) AS strays
DETACH DELETE r
RETURN steps, strays

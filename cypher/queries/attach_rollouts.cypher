// Make the nodes of rollouts; the caller holds the lock of the graph.
// Takes: graph, rows (list of maps of the properties of a rollout, key among them).
UNWIND $rows AS row
CREATE (r:Rollout {graph: $graph, key: row.key})
SET r += row, r.at = datetime()

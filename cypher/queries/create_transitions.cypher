// Create transitions between states that are there; the caller holds the lock of the graph.
// Takes: graph, rows (list of maps: key, task, source_state, action, target_state, source, support, since, inherited).
UNWIND $rows AS row
MATCH (a:State {graph: $graph, key: row.source_state})
MATCH (b:State {graph: $graph, key: row.target_state})
CREATE (a)-[:TRANSITION {
  graph: $graph, key: row.key, task: row.task, action: row.action, source: row.source, support: row.support,
  since: row.since, inherited: row.inherited
}]->(b)

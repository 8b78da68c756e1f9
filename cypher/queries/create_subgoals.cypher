// Create the subgoals of tasks; the caller holds the lock of the graph.
// Takes: graph, rows (list of maps: key, task, index, description, phrases, condition).
UNWIND $rows AS row
MATCH (t:Task {graph: $graph, key: row.task})
CREATE (t)-[:HAS_SUBGOAL]->(:Subgoal {
  graph: $graph, key: row.key, task: row.task, index: row.index, description: row.description, phrases: row.phrases,
  condition: row.condition
})

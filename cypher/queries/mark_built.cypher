// Remember that task graphs are stored whole, so that a rerun skips them.
// Takes: graph, rows (list of maps: task, digest).
UNWIND $rows AS row
MATCH (t:Task {graph: $graph, key: row.task})
WHERE NOT row.digest IN t.built
SET t.built = t.built + row.digest

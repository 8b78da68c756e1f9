// Count new successes towards transitions that a graph holds; the caller holds its lock.
// Takes: graph, rows (list of maps: key, support).
UNWIND $rows AS row
MATCH ()-[e:TRANSITION {graph: $graph, key: row.key}]->()
SET e.support = e.support + row.support

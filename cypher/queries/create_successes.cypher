// Create successes that a graph has not joined; the caller holds its lock.
// Takes: graph, rows (list of maps: key, task, rollout, run, transitions, since).
UNWIND $rows AS row
CREATE (:Success {
  graph: $graph, key: row.key, task: row.task, rollout: row.rollout, run: row.run, transitions: row.transitions,
  since: row.since
})

// Create tasks that the graph does not hold; the caller holds its lock.
// Takes: graph, rows (list of maps: key, env, goal, text, start, since, inherited).
UNWIND $rows AS row
CREATE (:Task {
  graph: $graph, key: row.key, env: row.env, goal: row.goal, text: row.text, start: row.start, since: row.since,
  inherited: row.inherited, built: coalesce(row.built, [])
})

// Create the versions of an imported graph.
// Takes: graph, rows (list of maps: k, run, added_states, added_transitions, at as ISO 8601).
UNWIND $rows AS row
CREATE (:Version {
  graph: $graph, k: row.k, run: row.run, added_states: row.added_states, added_transitions: row.added_transitions,
  at: datetime(row.at)
})

// Elements that a layer repeats from its base and that the base does not hold as of that version.
// Takes: base (name), base_version, tasks, states, transitions (lists of keys).
// Returns: kind (Task, State or TRANSITION), key; at most one row.
CALL () {
  UNWIND $tasks AS key
  WITH key WHERE NOT EXISTS { MATCH (t:Task {graph: $base, key: key}) WHERE t.since <= $base_version }
  RETURN 'Task' AS kind, key LIMIT 1
UNION ALL
  UNWIND $states AS key
  WITH key WHERE NOT EXISTS { MATCH (s:State {graph: $base, key: key}) WHERE s.since <= $base_version }
  RETURN 'State' AS kind, key LIMIT 1
UNION ALL
  UNWIND $transitions AS key
  WITH key WHERE NOT EXISTS {
    MATCH ()-[e:TRANSITION {graph: $base, key: key}]->() WHERE e.since <= $base_version
  }
  RETURN 'TRANSITION' AS kind, key LIMIT 1
}
RETURN kind, key LIMIT 1

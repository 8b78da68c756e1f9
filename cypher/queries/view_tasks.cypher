// Tasks of a graph and of what it sees of its base, for the object view.
// Takes: graph, base (name or null), base_version, prefix (of the keys), limit.
// Returns: graph (where the task lives), key, env, goal, text, start (key of its first state).
CALL () {
  MATCH (t:Task) WHERE t.graph = $graph AND t.key STARTS WITH $prefix AND NOT t.inherited
  RETURN t
UNION ALL
  MATCH (t:Task) WHERE t.graph = $base AND t.key STARTS WITH $prefix AND t.since <= $base_version
  RETURN t
}
RETURN t.graph AS graph, t.key AS key, t.env AS env, t.goal AS goal, t.text AS text, t.start AS start
ORDER BY key
LIMIT $limit

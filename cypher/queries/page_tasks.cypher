// A page of the tasks of a graph and the visible part of its base, in order of their keys.
// Takes: graph, version, base (name or null), base_version, after (key before the page), limit.
// Returns: key, task (map of env, goal, text).
CALL () {
  MATCH (t:Task {graph: $graph}) WHERE t.key > $after
  WITH t ORDER BY t.graph, t.key
  WHERE t.since <= $version AND NOT t.inherited
  RETURN t LIMIT $limit
  UNION ALL
  MATCH (t:Task {graph: $base}) WHERE t.key > $after
  WITH t ORDER BY t.graph, t.key
  WHERE t.since <= $base_version
  RETURN t LIMIT $limit
}
RETURN t.key AS key, t {.env, .goal, .text} AS task
ORDER BY key LIMIT $limit

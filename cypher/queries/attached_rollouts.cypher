// Rollouts attached to a graph, the newest first.
// Takes: graph.
// Returns: key, id, task, version (that labelled it), labels (digest), run, steps, at (ISO 8601).
MATCH (r:Rollout {graph: $graph}) WHERE r.key IS NOT NULL
RETURN r.key AS key, r.id AS id, r.task AS task, r.version AS version, r.labels AS labels, r.run AS run,
       r.steps AS steps, toString(r.at) AS at
ORDER BY r.at DESC, r.version DESC, r.place DESC

// A page of the success nodes of one graph in order of their keys.
// Takes: graph, after (key before the page), limit.
// Returns: key, task, rollout, run, transitions, since.
MATCH (w:Success {graph: $graph}) WHERE w.key > $after
RETURN w.key AS key, w.task AS task, w.rollout AS rollout, w.run AS run, w.transitions AS transitions,
       w.since AS since
ORDER BY w.graph, key LIMIT $limit

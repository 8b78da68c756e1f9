// Successes that a graph itself has joined of some tasks.
// Takes: graph, tasks (list of task keys).
// Returns: key, task, rollout, run, transitions, since.
UNWIND $tasks AS task
MATCH (w:Success {graph: $graph, task: task})
RETURN w.key AS key, task, w.rollout AS rollout, w.run AS run, w.transitions AS transitions, w.since AS since
ORDER BY key

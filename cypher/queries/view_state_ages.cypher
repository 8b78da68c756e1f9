// The versions that brought a graph's own states of some tasks; what a layer shows of its base is older than all.
// Takes: graph, tasks (list of task keys), version.
// Returns: key, since.
UNWIND $tasks AS task
MATCH (s:State {graph: $graph, task: task})
WHERE s.since <= $version AND NOT s.inherited
RETURN s.key AS key, s.since AS since

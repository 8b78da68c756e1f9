// Forget the distances of a graph that were found after a version; the caller holds its lock.
// Takes: graph, version.
// Returns: tasks (keys of the tasks that they belong to).
MATCH (s:State {graph: $graph}) WHERE s.key IS NOT NULL AND s.distance_since > $version
WITH s, s.task AS task
REMOVE s.distance, s.distance_since
RETURN collect(DISTINCT task) AS tasks

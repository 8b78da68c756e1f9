// How many states of some tasks a graph itself holds, and of how many of them the distance to the goal is known.
// Takes: graph, tasks (list of task keys).
// Returns: states, measured, farthest (the largest distance, 0 where there is none).
UNWIND $tasks AS key
MATCH (s:State {graph: $graph, task: key})
RETURN count(s) AS states, count(s.distance) AS measured, coalesce(max(s.distance), 0) AS farthest

// Take the marks of transitions away; the caller holds the lock of the graph.
// Takes: graph, tasks (list of task keys).
UNWIND $tasks AS key
MATCH (s:State {graph: $graph, task: key})
USING INDEX s:State(graph, task)
MATCH (s)-[x]->(:State) WHERE x.marks IS NOT NULL
DELETE x

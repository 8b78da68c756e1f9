// All states, transitions and successes of a task are found by one seek each: labelling reads a task's transitions
// at once instead of probing the graph for every step.

CREATE INDEX arg_state_task IF NOT EXISTS
FOR (s:State) ON (s.graph, s.task);

CREATE INDEX arg_transition_task IF NOT EXISTS
FOR ()-[e:TRANSITION]-() ON (e.graph, e.task);

CREATE INDEX arg_success_task IF NOT EXISTS
FOR (w:Success) ON (w.graph, w.task);

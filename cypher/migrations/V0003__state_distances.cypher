// States of a task by their distance to its goal: measuring distances goes outwards from the goal, level by level.

CREATE INDEX arg_state_distance IF NOT EXISTS
FOR (s:State) ON (s.graph, s.task, s.distance);

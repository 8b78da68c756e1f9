// Keys of what a graph and the visible part of its base hold of some tasks.
// Takes: graph, base (name or null), base_version, tasks (list of task keys).
// Returns: key, states, base_states, transitions, base_transitions (lists of keys).
UNWIND $tasks AS key
RETURN key,
       COLLECT { MATCH (s:State {graph: $graph, task: key}) RETURN s.key } AS states,
       COLLECT { MATCH (s:State {graph: $base, task: key}) WHERE s.since <= $base_version RETURN s.key } AS base_states,
       COLLECT { MATCH ()-[e:TRANSITION {graph: $graph, task: key}]->() RETURN e.key } AS transitions,
       COLLECT {
         MATCH ()-[e:TRANSITION {graph: $base, task: key}]->() WHERE e.since <= $base_version RETURN e.key
       } AS base_transitions

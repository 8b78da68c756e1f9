// All that a graph and the visible part of its base hold of some tasks; unknown tasks give no row.
// Takes: graph, version, base (name or null), base_version, tasks (list of task keys).
// Returns: key, task (map), subgoals, states, base_states, transitions, base_transitions (lists of maps).
UNWIND $tasks AS key
OPTIONAL MATCH (own:Task {graph: $graph, key: key}) WHERE own.since <= $version
OPTIONAL MATCH (below:Task {graph: $base, key: key}) WHERE below.since <= $base_version
WITH key, coalesce(below, own) AS found WHERE found IS NOT NULL
RETURN key, found {.env, .goal, .text, .start} AS task,
       COLLECT {
         MATCH (found)-[:HAS_SUBGOAL]->(m:Subgoal)
         RETURN m {.index, .description, .phrases, .condition}
       } AS subgoals,
       COLLECT {
         MATCH (s:State {graph: $graph, task: key}) WHERE s.since <= $version
         RETURN s {.key, .facts, .source}
       } AS states,
       COLLECT {
         MATCH (s:State {graph: $base, task: key}) WHERE s.since <= $base_version
         RETURN s {.key, .facts, .source}
       } AS base_states,
       COLLECT {
         MATCH (a)-[e:TRANSITION {graph: $graph, task: key}]->(b) WHERE e.since <= $version
         RETURN e {.key, .action, .source, .support, .since, .inherited, source_state: a.key, target_state: b.key}
       } AS transitions,
       COLLECT {
         MATCH (a)-[e:TRANSITION {graph: $base, task: key}]->(b) WHERE e.since <= $base_version
         RETURN e {.key, .action, .source, .support, .since, .inherited, source_state: a.key, target_state: b.key}
       } AS base_transitions
ORDER BY key

// Raw content of a page of tasks of one graph, and what its base shows of them.
// Takes: graph, base (name or null), base_version, searching (fact of states that get no distance), after (key before the
//   page), limit.
// Returns: key, task (map), below (the base shows the task), built (it was built here or there), subgoals, states,
//   transitions, successes (lists of maps), base_states (list of [key, index, distance, searching]),
//   base_transitions (list of [key, source, target]).
MATCH (t:Task {graph: $graph}) WHERE t.key > $after
WITH t ORDER BY t.graph, t.key LIMIT $limit
OPTIONAL MATCH (below:Task {graph: $base, key: t.key}) WHERE below.since <= $base_version
RETURN t.key AS key, t {.env, .goal, .text, .start, .since, .inherited, .built} AS task, below IS NOT NULL AS below,
       t.built <> [] OR coalesce(below.built, []) <> [] AS built,
       COLLECT {
         MATCH (t)-[:HAS_SUBGOAL]->(m:Subgoal)
         RETURN m {.key, .index, .description, .phrases, .condition, at_home: m.graph = $graph AND m.task = t.key}
       } AS subgoals,
       COLLECT {
         MATCH (s:State {graph: $graph, task: t.key})
         RETURN s {.key, .facts, .name, .initial, .source, .since, .inherited, .distance, .distance_since,
                   members: COLLECT { MATCH (s)-[:MEMBER_OF]->(m) RETURN m.key },
                   at_home: NOT EXISTS { MATCH (s)-[:MEMBER_OF]->(m) WHERE NOT (t)-[:HAS_SUBGOAL]->(m) }}
       } AS states,
       COLLECT {
         MATCH (a)-[e:TRANSITION {graph: $graph, task: t.key}]->(b)
         RETURN e {.key, .action, .source, .support, .since, .inherited, source_state: a.key, target_state: b.key,
                   ends_since: CASE WHEN a.since > b.since THEN a.since ELSE b.since END,
                   at_home: a.graph = $graph AND b.graph = $graph AND a.task = t.key AND b.task = t.key}
       } AS transitions,
       COLLECT { MATCH (w:Success {graph: $graph, task: t.key}) RETURN w {.key, .rollout, .run, .transitions, .since} } AS successes,
       COLLECT {
         MATCH (s:State {graph: $base, task: t.key})-[:MEMBER_OF]->(m:Subgoal) WHERE s.since <= $base_version
         RETURN [s.key, m.index, CASE WHEN s.distance_since <= $base_version THEN s.distance END,
                 $searching IN s.facts]
       } AS base_states,
       COLLECT {
         MATCH (a)-[e:TRANSITION {graph: $base, task: t.key}]->(b) WHERE e.since <= $base_version
         RETURN [e.key, a.key, b.key]
       } AS base_transitions

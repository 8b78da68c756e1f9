// Tasks of a graph itself by how recently they changed, with their sizes: what there is to look at first.
// Takes: graph, limit.
// Returns: key, goal, states, learnt (states that came after version 0).
MATCH (t:Task {graph: $graph}) WHERE t.key IS NOT NULL
WITH t, COUNT { MATCH (s:State {graph: $graph, task: t.key}) } AS states,
     COUNT { MATCH (s:State {graph: $graph, task: t.key}) WHERE s.since > 0 } AS learnt
ORDER BY learnt DESC, states DESC, t.key LIMIT $limit
RETURN t.key AS key, t.goal AS goal, states, learnt

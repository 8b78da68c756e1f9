// A page of the task nodes of one graph in order of their keys.
// Takes: graph, after (key before the page), limit.
// Returns: key, env, goal, text, start, since, inherited, built.
MATCH (t:Task {graph: $graph}) WHERE t.key > $after
RETURN t.key AS key, t.env AS env, t.goal AS goal, t.text AS text, t.start AS start, t.since AS since,
       t.inherited AS inherited, t.built AS built
ORDER BY t.graph, key LIMIT $limit

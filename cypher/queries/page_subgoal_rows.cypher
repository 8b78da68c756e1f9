// A page of the subgoal nodes of one graph in order of their keys.
// Takes: graph, after (key before the page), limit.
// Returns: key, task, index, description, phrases, condition.
MATCH (m:Subgoal {graph: $graph}) WHERE m.key > $after
RETURN m.key AS key, m.task AS task, m.index AS index, m.description AS description, m.phrases AS phrases,
       m.condition AS condition
ORDER BY m.graph, key LIMIT $limit

// Subgoals of a task in order, for the object view.
// Takes: graph, base (name or null), base_version, task (key), limit.
// Returns: key, index, description, phrases.
OPTIONAL MATCH (own:Task {graph: $graph, key: $task})
OPTIONAL MATCH (below:Task {graph: $base, key: $task}) WHERE below.since <= $base_version
WITH coalesce(own, below) AS t
MATCH (t)-[:HAS_SUBGOAL]->(m:Subgoal)
RETURN m.key AS key, m.index AS index, m.description AS description, m.phrases AS phrases
ORDER BY index
LIMIT $limit

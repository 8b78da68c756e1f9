// Make the states off the graph that rollouts reached; the caller holds the lock of the graph.
// Takes: graph, rows (list of maps: key, task, name, facts).
// Returns: made (how many are new).
UNWIND $rows AS row
OPTIONAL MATCH (old:Stray {graph: $graph, key: row.key})
WITH row WHERE old IS NULL
CREATE (:Stray {graph: $graph, key: row.key, task: row.task, name: row.name, facts: row.facts})
RETURN count(*) AS made

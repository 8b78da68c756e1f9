// What a graph and the visible part of its base know of some tasks.
// Takes: graph, base (name or null), base_version, tasks (list of task keys).
// Returns: key, own, below (truth values), task (map of properties or null), built (digests), subgoals (list of maps).
UNWIND $tasks AS key
OPTIONAL MATCH (own:Task {graph: $graph, key: key})
OPTIONAL MATCH (below:Task {graph: $base, key: key}) WHERE below.since <= $base_version
WITH key, own, below, coalesce(own, below) AS found
RETURN key, own IS NOT NULL AS own, below IS NOT NULL AS below,
       found {.env, .goal, .text, .start} AS task,
       coalesce(own.built, []) AS built,
       COLLECT {
         MATCH (found)-[:HAS_SUBGOAL]->(m:Subgoal)
         RETURN m {.index, .description, .phrases, .condition}
       } AS subgoals

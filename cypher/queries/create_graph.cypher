// Make a graph unless there is one of that name, with its version 0.
// Takes: graph (name), base (name or null), run (name of what makes it).
// Returns: base (of the graph as stored), dropping (it or the base), base_of_base; no row when the base is not there.
OPTIONAL MATCH (b:ARG {name: $base})
WITH b WHERE $base IS NULL OR b IS NOT NULL
MERGE (g:ARG {name: $graph})
ON CREATE SET g.version = 0, g.created = datetime(), g.base = b.name, g.base_version = b.version
FOREACH (below IN CASE WHEN b IS NOT NULL AND g.base = b.name THEN [b] ELSE [] END | MERGE (g)-[:LAYER_OF]->(below))
MERGE (v:Version {graph: $graph, k: 0})
ON CREATE SET v.run = $run, v.added_states = 0, v.added_transitions = 0, v.at = datetime()
RETURN g.base AS base, coalesce(g.dropping, false) OR coalesce(b.dropping, false) AS dropping, b.base AS base_of_base

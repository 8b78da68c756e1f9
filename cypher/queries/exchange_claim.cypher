// Make a graph that nobody but its import may use until it is whole: `dropping` keeps everyone else out, and lets a
// drop clear away what a killed import left.
// Takes: graph (name), token (text that only this import knows), base (name or null), base_version (or null).
// Returns: token of the graph as stored, null for one that is not being imported; no row when the base is not there,
//   is older than that version, is a layer itself or is being dropped.
OPTIONAL MATCH (b:ARG {name: $base})
WHERE b.version >= $base_version AND b.base IS NULL AND NOT coalesce(b.dropping, false)
WITH b WHERE $base IS NULL OR b IS NOT NULL
MERGE (g:ARG {name: $graph})
ON CREATE SET g.version = 0, g.created = datetime(), g.base = $base, g.base_version = $base_version,
              g.dropping = true, g.importing = $token, g.imported = 0
FOREACH (below IN CASE WHEN b IS NOT NULL AND g.importing = $token THEN [b] ELSE [] END |
  MERGE (g)-[:LAYER_OF]->(below)
)
RETURN g.importing AS token

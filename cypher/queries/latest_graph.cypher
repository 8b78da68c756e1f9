// The graph that changed last.
// Returns: name; no row where there is no graph.
MATCH (g:ARG) WHERE NOT coalesce(g.dropping, false)
OPTIONAL MATCH (v:Version {graph: g.name}) WHERE v.k IS NOT NULL
WITH g, max(v.at) AS at
ORDER BY at DESC, g.name LIMIT 1
RETURN g.name AS name

// Graphs for the object view.
// Takes: graph (name, or null for all), limit.
// Returns: name, version, base (or null), base_version (or null).
MATCH (g:ARG)
WHERE ($graph IS NULL OR g.name = $graph) AND NOT coalesce(g.dropping, false)
RETURN g.name AS name, g.version AS version, g.base AS base, g.base_version AS base_version
ORDER BY name
LIMIT $limit

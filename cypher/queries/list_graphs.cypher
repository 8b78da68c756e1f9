// All graphs by name.
// Takes: graph (name, or null for all).
// Returns: name, version, base (or ''), base_version (or null), created (ISO 8601), layers (names), dropping, whole.
MATCH (g:ARG) WHERE $graph IS NULL OR g.name = $graph
RETURN g.name AS name, g.version AS version, coalesce(g.base, '') AS base, g.base_version AS base_version,
       toString(g.created) AS created, coalesce(g.dropping, false) AS dropping, coalesce(g.whole, false) AS whole,
       COLLECT { MATCH (g)<-[:LAYER_OF]-(layer:ARG) RETURN layer.name ORDER BY layer.name } AS layers
ORDER BY name

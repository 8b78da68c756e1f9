// A graph itself, and what it hangs on.
// Takes: graph.
// Returns: version, base (name or null), base_version, below (list of maps: name, version, base).
MATCH (g:ARG {name: $graph})
RETURN g.version AS version, g.base AS base, g.base_version AS base_version,
       COLLECT { MATCH (g)-[:LAYER_OF]->(b) RETURN b {.name, .version, .base} } AS below

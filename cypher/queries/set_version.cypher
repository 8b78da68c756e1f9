// Move a graph to a later version; the caller holds its lock.
// Takes: graph, version (whole number).
MATCH (g:ARG {name: $graph})
SET g.version = $version

// Open a graph whose import is complete.
// Takes: graph, token, version, created (ISO 8601).
// Returns: version as stored; no row when the graph was taken away.
MATCH (g:ARG {name: $graph})
SET g.locked = true
REMOVE g.locked
WITH g WHERE g.importing = $token
SET g.version = $version, g.created = datetime($created)
REMOVE g.importing, g.imported, g.dropping
RETURN g.version AS version

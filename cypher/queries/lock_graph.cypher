// Lock a graph until the transaction ends, so that its writers take turns.
// Takes: graph (name).
// Returns: version, base (name or null), base_version, dropping, pinned (a layer over it sees just this version); no row
//   when there is no such graph.
MATCH (g:ARG {name: $graph})
SET g.locked = true
REMOVE g.locked
RETURN g.version AS version, g.base AS base, g.base_version AS base_version, coalesce(g.dropping, false) AS dropping,
       EXISTS { MATCH (g)<-[:LAYER_OF]-(layer:ARG) WHERE layer.base_version = g.version } AS pinned

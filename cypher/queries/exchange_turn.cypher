// Lock a graph under import until the transaction ends.
// Takes: graph (name), token (of the import).
// Returns: imported (number of batches stored); no row when another import or a drop has taken the graph away.
MATCH (g:ARG {name: $graph})
SET g.locked = true
REMOVE g.locked
WITH g WHERE g.importing = $token
RETURN g.imported AS imported

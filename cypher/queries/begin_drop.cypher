// Mark a graph as being dropped: from now on nothing is written to it.
// An import of it that is still at work loses its turn.
// Takes: graph.
MATCH (g:ARG {name: $graph})
SET g.dropping = true
REMOVE g.importing

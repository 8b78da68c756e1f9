// Note on a graph that it holds all that it was made to hold, or take the note back.
// Takes: graph (name), whole (true, or null to take it back).
MATCH (g:ARG {name: $graph})
SET g.whole = $whole

// Count a stored batch, in the transaction that stored it: a repeated transaction sees that it has been there before.
// Takes: graph (name), imported (number of batches stored, this one included).
MATCH (g:ARG {name: $graph})
SET g.imported = $imported

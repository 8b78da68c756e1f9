// Raise the support of transitions that more demonstrations were seen of, and let a verified source take the place of
// one that was not; the caller holds the lock of the graph. What a layer inherits is left alone.
// Takes: graph, rows (list of maps: key, source, support).
UNWIND $rows AS row
MATCH ()-[e:TRANSITION {graph: $graph, key: row.key}]->()
WHERE NOT e.inherited
  AND (e.support < row.support OR (e.source = 'unverified' AND row.source <> 'unverified'))
SET e.support = CASE WHEN e.support < row.support THEN row.support ELSE e.support END,
    e.source = CASE WHEN e.source = 'unverified' THEN row.source ELSE e.source END

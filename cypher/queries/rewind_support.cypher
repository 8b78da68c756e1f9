// Take back what successes that are to be forgotten counted towards transitions that stay; a layer's own copy of a
// transition of its base is there for the sake of that count alone, and goes with it. The caller holds the lock.
// Takes: graph, version (what came after it is forgotten).
MATCH (w:Success {graph: $graph}) WHERE w.key IS NOT NULL AND w.since > $version
UNWIND w.transitions AS key
WITH key, count(*) AS forgotten
MATCH ()-[e:TRANSITION {graph: $graph, key: key}]->() WHERE e.since <= $version
SET e.support = e.support - forgotten
WITH e WHERE e.inherited AND e.support < 1
DELETE e

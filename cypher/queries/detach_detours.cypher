// Take back what rollouts that are to be removed counted towards ways off the graph; the caller holds its lock.
// Takes: graph, keys (list of keys of rollouts).
UNWIND $keys AS rollout
MATCH (r:Rollout {graph: $graph, key: rollout})-[s:STEP_ASTRAY]->()
WITH s.key AS key, count(s) AS times, count(DISTINCT r) AS rollouts
MATCH ()-[d:DETOUR {graph: $graph, key: key}]->()
SET d.times = d.times - times, d.rollouts = d.rollouts - rollouts
WITH d WHERE d.times < 1
DELETE d

// Count ways that rollouts took and the graph does not know, one relationship for each; the caller holds the lock of the
// graph.
// Takes: graph, rows (list of maps: key, task, action, from, from_home, to, to_home (homes are null for strays), times,
//   rollouts).
UNWIND $rows AS row
OPTIONAL MATCH (a:State {graph: row.from_home, key: row.from})
OPTIONAL MATCH (b:Stray {graph: $graph, key: row.from}) WHERE row.from_home IS NULL
OPTIONAL MATCH (c:State {graph: row.to_home, key: row.to})
OPTIONAL MATCH (d:Stray {graph: $graph, key: row.to}) WHERE row.to_home IS NULL
OPTIONAL MATCH ()-[old:DETOUR {graph: $graph, key: row.key}]->()
WITH row, coalesce(a, b) AS here, coalesce(c, d) AS there, old
WHERE here IS NOT NULL AND there IS NOT NULL
FOREACH (_ IN CASE WHEN old IS NULL THEN [1] ELSE [] END |
  CREATE (here)-[e:DETOUR {graph: $graph, key: row.key}]->(there)
  SET e.task = row.task, e.action = row.action, e.times = row.times, e.rollouts = row.rollouts)
FOREACH (e IN CASE WHEN old IS NULL THEN [] ELSE [old] END |
  SET e.times = e.times + row.times, e.rollouts = e.rollouts + row.rollouts)

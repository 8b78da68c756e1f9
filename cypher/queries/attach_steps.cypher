// Tie rollouts to the states that their steps reached, by what the graph says of the step: the type of a relationship is
// what Browser colours it by. The caller holds the lock of the graph.
// Takes: graph, rows (list of maps: rollout, kind (start, progress, again, astray), home (graph that holds the state, null
//   for a stray one), place (key of the state), step (map of properties)).
UNWIND $rows AS row
MATCH (r:Rollout {graph: $graph, key: row.rollout})
OPTIONAL MATCH (s:State {graph: row.home, key: row.place})
OPTIONAL MATCH (p:Stray {graph: $graph, key: row.place}) WHERE row.home IS NULL
WITH row, r, coalesce(s, p) AS place WHERE place IS NOT NULL
FOREACH (_ IN CASE row.kind WHEN 'start' THEN [1] ELSE [] END |
  CREATE (r)-[e:STEP_START]->(place) SET e = row.step)
FOREACH (_ IN CASE row.kind WHEN 'progress' THEN [1] ELSE [] END |
  CREATE (r)-[e:STEP_PROGRESS]->(place) SET e = row.step)
FOREACH (_ IN CASE row.kind WHEN 'again' THEN [1] ELSE [] END |
  CREATE (r)-[e:STEP_AGAIN]->(place) SET e = row.step)
FOREACH (_ IN CASE row.kind WHEN 'astray' THEN [1] ELSE [] END |
  CREATE (r)-[e:STEP_ASTRAY]->(place) SET e = row.step)

// Lay a mark along each transition whose type says how old it is and how often it was demonstrated, for style sheets,
// which select by type; the caller holds the lock of the graph, and has taken earlier marks away.
// Takes: graph, tasks (list of task keys), newest (version that counts as the newest).
// Returns: marks (how many).
UNWIND $tasks AS key
MATCH (a:State {graph: $graph, task: key})
USING INDEX a:State(graph, task)
MATCH (a)-[e:TRANSITION]->(b)
WITH a, b, e {.graph, .task, .action, .source, .support, .since, marks: e.key} AS drawn,
     CASE WHEN e.since = 0 OR e.inherited THEN 'built' WHEN e.since < $newest THEN 'learnt' ELSE 'newest' END + ' ' +
     CASE WHEN e.support < 2 THEN 'once' WHEN e.support < 5 THEN 'again' ELSE 'often' END AS mark
FOREACH (_ IN CASE mark WHEN 'built once' THEN [1] ELSE [] END |
  CREATE (a)-[x:BUILT_ONCE]->(b) SET x = drawn)
FOREACH (_ IN CASE mark WHEN 'built again' THEN [1] ELSE [] END |
  CREATE (a)-[x:BUILT_AGAIN]->(b) SET x = drawn)
FOREACH (_ IN CASE mark WHEN 'built often' THEN [1] ELSE [] END |
  CREATE (a)-[x:BUILT_OFTEN]->(b) SET x = drawn)
FOREACH (_ IN CASE mark WHEN 'learnt once' THEN [1] ELSE [] END |
  CREATE (a)-[x:LEARNT_ONCE]->(b) SET x = drawn)
FOREACH (_ IN CASE mark WHEN 'learnt again' THEN [1] ELSE [] END |
  CREATE (a)-[x:LEARNT_AGAIN]->(b) SET x = drawn)
FOREACH (_ IN CASE mark WHEN 'learnt often' THEN [1] ELSE [] END |
  CREATE (a)-[x:LEARNT_OFTEN]->(b) SET x = drawn)
FOREACH (_ IN CASE mark WHEN 'newest once' THEN [1] ELSE [] END |
  CREATE (a)-[x:NEWEST_ONCE]->(b) SET x = drawn)
FOREACH (_ IN CASE mark WHEN 'newest again' THEN [1] ELSE [] END |
  CREATE (a)-[x:NEWEST_AGAIN]->(b) SET x = drawn)
FOREACH (_ IN CASE mark WHEN 'newest often' THEN [1] ELSE [] END |
  CREATE (a)-[x:NEWEST_OFTEN]->(b) SET x = drawn)
RETURN count(drawn) AS marks

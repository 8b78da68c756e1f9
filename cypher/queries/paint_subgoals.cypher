// Label subgoals by their order, for style sheets, which select by label; the caller holds the lock of the graph.
// Takes: graph, tasks (list of task keys), on (false takes the labels away).
UNWIND $tasks AS key
MATCH (t:Task {graph: $graph, key: key})-[:HAS_SUBGOAL]->(m:Subgoal)
REMOVE m:Order0:Order1:Order2:Order3:Order4:Order5:OrderLater:OrderGoal
WITH t, m WHERE $on
WITH t, m, COUNT { (t)-[:HAS_SUBGOAL]->() } - 1 AS goal
WITH m, CASE WHEN m.index = goal THEN -1 WHEN m.index > 5 THEN 6 ELSE m.index END AS order
FOREACH (_ IN CASE order WHEN -1 THEN [1] ELSE [] END | SET m:OrderGoal)
FOREACH (_ IN CASE order WHEN 0 THEN [1] ELSE [] END | SET m:Order0)
FOREACH (_ IN CASE order WHEN 1 THEN [1] ELSE [] END | SET m:Order1)
FOREACH (_ IN CASE order WHEN 2 THEN [1] ELSE [] END | SET m:Order2)
FOREACH (_ IN CASE order WHEN 3 THEN [1] ELSE [] END | SET m:Order3)
FOREACH (_ IN CASE order WHEN 4 THEN [1] ELSE [] END | SET m:Order4)
FOREACH (_ IN CASE order WHEN 5 THEN [1] ELSE [] END | SET m:Order5)
FOREACH (_ IN CASE order WHEN 6 THEN [1] ELSE [] END | SET m:OrderLater)

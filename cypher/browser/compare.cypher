// Two runs compared, as a table: what each knows of a task, and how often it was demonstrated
// Takes graph, other and task, for example  :params {graph: 'run-a', other: 'run-b', task: '...'}
CALL () {
  MATCH (a:State)-[e:TRANSITION {graph: $graph, task: $task}]->(b:State)
  RETURN a, e, b, e.support AS here, 0 AS there
UNION ALL
  MATCH (a:State)-[e:TRANSITION {graph: $other, task: $task}]->(b:State)
  RETURN a, e, b, 0 AS here, e.support AS there
}
WITH e.key AS key, a.name AS `from`, e.action AS action, b.name AS `to`, sum(here) AS here, sum(there) AS there
RETURN CASE WHEN there = 0 THEN 'only ' + $graph WHEN here = 0 THEN 'only ' + $other ELSE 'both' END AS `known to`,
       here AS `shown here`, there AS `shown there`, `from`, action, `to`
ORDER BY abs(sign(here) - sign(there)) DESC, `known to`, here + there DESC, action

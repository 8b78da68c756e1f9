// Who showed it, as a table: the rollouts that verified each transition of a task
// Takes graph and task, for example  :params {graph: 'run-a', task: '...'}
MATCH (w:Success {graph: $graph, task: $task})
UNWIND w.transitions AS key
MATCH (a:State)-[e:TRANSITION {graph: $graph, key: key}]->(b:State)
WITH a.name AS `from`, e.action AS action, b.name AS `to`, collect(w.run + ': ' + w.rollout) AS rollouts
RETURN size(rollouts) AS `shown by`, `from`, action, `to`, rollouts
ORDER BY `shown by` DESC, action

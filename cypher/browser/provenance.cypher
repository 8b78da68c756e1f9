// The rollouts that verified each transition of a task, as a table.
// First set, for example:  :params {graph: 'alfworld', task: 'the key of a task'}
MATCH (w:Success {graph: $graph, task: $task})
UNWIND w.transitions AS key
MATCH (a:State)-[e:TRANSITION {graph: $graph, key: key}]->(b:State)
RETURN a.name AS `from`, e.action AS action, b.name AS `to`, collect(w.run + ': ' + w.rollout) AS rollouts
ORDER BY size(rollouts) DESC, action

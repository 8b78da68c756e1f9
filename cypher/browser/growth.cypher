// Transitions of a task by the version that brought them, as a table.
// First set, for example:  :params {graph: 'alfworld', task: 'the key of a task'}
MATCH (a:State)-[e:TRANSITION {graph: $graph, task: $task}]->(b:State)
RETURN e.since AS version, e.source AS source, a.name AS `from`, e.action AS action, b.name AS `to`,
       e.support AS support
ORDER BY version, source, action

// What a task learnt and when, as a table: its transitions by the version that brought them
// Takes graph and task, for example  :params {graph: 'run-a', task: '...'}
MATCH (a:State)-[e:TRANSITION {graph: $graph, task: $task}]->(b:State)
RETURN e.since AS version, e.source AS source, a.name AS `from`, e.action AS action, b.name AS `to`,
       e.support AS support
ORDER BY version, source, action

// Two runs compared, as a picture: what a graph knows of a task and another graph does not
// Takes graph, other and task, for example  :params {graph: 'run-a', other: 'run-b', task: '...'}
MATCH (a:State {graph: $graph, task: $task})-[e:TRANSITION]->(b:State)
WHERE NOT EXISTS { MATCH ()-[same:TRANSITION {graph: $other, key: e.key}]->() }
MATCH (a)-[from:MEMBER_OF]->(m:Subgoal)
MATCH (b)-[to:MEMBER_OF]->(n:Subgoal)
OPTIONAL MATCH (a)-[mark]->(b) WHERE mark.marks = e.key
RETURN a, coalesce(mark, e) AS transition, b, from, m, to, n

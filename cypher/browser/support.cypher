// What more than one demonstration took: the transitions of a task that rollouts or plans agree on
// Takes graph and task, for example  :params {graph: 'run-a', task: '...'}
MATCH (a:State {graph: $graph, task: $task})-[e:TRANSITION]->(b:State) WHERE e.support > 1
MATCH (a)-[from:MEMBER_OF]->(m:Subgoal)
MATCH (b)-[to:MEMBER_OF]->(n:Subgoal)
OPTIONAL MATCH (a)-[mark]->(b) WHERE mark.marks = e.key
RETURN a, coalesce(mark, e) AS transition, b, from, m, to, n

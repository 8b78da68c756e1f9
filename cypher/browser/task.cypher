// A task: its subgoals in order, its states and the transitions between them
// Takes graph and task, for example  :params {graph: 'kitchen', task: 'the key of a task'}
MATCH (t:Task {graph: $graph, key: $task})-[has:HAS_SUBGOAL]->(m:Subgoal)
OPTIONAL MATCH (s:State)-[member:MEMBER_OF]->(m)
OPTIONAL MATCH (s)-[e:TRANSITION]->(next:State)
OPTIONAL MATCH (s)-[mark]->(next) WHERE mark.marks = e.key
RETURN t, has, m, s, member, coalesce(mark, e) AS transition, next

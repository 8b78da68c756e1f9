// A task with its subgoals, states and transitions, as a picture.
// First set, for example:  :params {graph: 'alfworld', task: 'the key of a task'}
MATCH (t:Task {graph: $graph, key: $task})-[has:HAS_SUBGOAL]->(m:Subgoal)
OPTIONAL MATCH (s:State)-[member:MEMBER_OF]->(m)
OPTIONAL MATCH (s)-[transition:TRANSITION]->(next:State)
RETURN *

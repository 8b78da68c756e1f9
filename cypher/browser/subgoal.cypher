// A subgoal's class: its states, the ways within it, the ways in and the ways out
// Takes graph, task and subgoal (its index), for example  :params {graph: 'kitchen', task: '...', subgoal: 1}
MATCH (m:Subgoal {graph: $graph, task: $task, index: toInteger($subgoal)})<-[member:MEMBER_OF]-(s:State)
OPTIONAL MATCH (s)-[e:TRANSITION]-(other:State)-[of:MEMBER_OF]->(beside:Subgoal)
OPTIONAL MATCH (s)-[mark]-(other) WHERE mark.marks = e.key
RETURN m, member, s, coalesce(mark, e) AS transition, other, of, beside

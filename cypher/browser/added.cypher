// What a version added: its new transitions, with the states at their ends and the tasks that they belong to
// Takes graph and version, for example  :params {graph: 'run-a', version: 3}
MATCH (a:State {graph: $graph})-[e:TRANSITION {graph: $graph}]->(b:State)
WHERE e.since = toInteger($version) AND NOT e.inherited
WITH a, e, b ORDER BY e.task, e.support DESC LIMIT 100
MATCH (a)-[member:MEMBER_OF]->(m:Subgoal)<-[has:HAS_SUBGOAL]-(t:Task)
OPTIONAL MATCH (a)-[mark]->(b) WHERE mark.marks = e.key
RETURN a, coalesce(mark, e) AS transition, b, member, m, has, t

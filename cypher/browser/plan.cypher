// One shortest way from the start of a task to its goal, as a picture.
// First set, for example:  :params {graph: 'alfworld', task: 'the key of a task'}
MATCH (t:Task {graph: $graph, key: $task})-[:HAS_SUBGOAL]->(m:Subgoal)
WITH t, m ORDER BY m.index DESC LIMIT 1
MATCH (start:State {graph: $graph, key: t.start})
MATCH (m)<-[:MEMBER_OF]-(goal:State)
MATCH way = SHORTEST 1 (start)-[:TRANSITION]->+(goal)
RETURN way ORDER BY length(way) LIMIT 1

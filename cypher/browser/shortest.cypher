// A shortest way from the start of a task to its goal, in the graph itself or in what it is a layer over
// Takes graph and task, for example  :params {graph: 'kitchen', task: 'the key of a task'}
MATCH (g:ARG {name: $graph})
UNWIND [[g.name, g.version], [g.base, g.base_version]] AS home
MATCH (t:Task {graph: home[0], key: $task})-[:HAS_SUBGOAL]->(m:Subgoal)
WITH home, t, m ORDER BY m.index DESC
WITH home, t, head(collect(m)) AS last
MATCH (start:State {graph: home[0], key: t.start})
MATCH (last)<-[:MEMBER_OF]-(goal:State)
MATCH way = SHORTEST 1 (start) (()-[step:TRANSITION WHERE step.since <= home[1]]->())+ (goal)
WITH way ORDER BY length(way) LIMIT 1
UNWIND relationships(way) AS e
WITH startNode(e) AS a, e, endNode(e) AS b
OPTIONAL MATCH (a)-[mark]->(b) WHERE mark.marks = e.key
RETURN a, coalesce(mark, e) AS transition, b

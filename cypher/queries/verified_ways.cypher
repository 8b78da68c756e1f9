// Where some tasks begin and end, and the verified transitions between: what the shortest ways to the goal are found in.
// A layer shows the union with its base, as it was when the layer was made; unknown tasks give no row.
// Takes: graph, tasks (list of task keys), unverified (source of transitions that nobody has carried out).
// Returns: key, start (state key), goals (keys of the states of the last subgoal), edges (list of [from, action, to]).
MATCH (g:ARG {name: $graph})
UNWIND $tasks AS key
OPTIONAL MATCH (own:Task {graph: $graph, key: key}) WHERE own.since <= g.version
OPTIONAL MATCH (below:Task {graph: g.base, key: key}) WHERE below.since <= g.base_version
WITH g, key, coalesce(below, own) AS task WHERE task IS NOT NULL
WITH g, key, task.start AS start,
     COLLECT { MATCH (task)-[:HAS_SUBGOAL]->(m:Subgoal) RETURN m.index ORDER BY m.index DESC LIMIT 1 }[0] AS last
RETURN key, start,
       COLLECT {
         MATCH (s:State {graph: $graph, task: key})-[:MEMBER_OF]->(m:Subgoal)
         WHERE s.since <= g.version AND m.index = last
         RETURN s.key
       } + COLLECT {
         MATCH (s:State {graph: g.base, task: key})-[:MEMBER_OF]->(m:Subgoal)
         WHERE s.since <= g.base_version AND m.index = last
         RETURN s.key
       } AS goals,
       COLLECT {
         MATCH (a)-[e:TRANSITION {graph: $graph, task: key}]->(b)
         WHERE e.since <= g.version AND e.source <> $unverified
         RETURN [a.key, e.action, b.key]
       } + COLLECT {
         MATCH (a)-[e:TRANSITION {graph: g.base, task: key}]->(b)
         WHERE e.since <= g.base_version AND e.source <> $unverified
         RETURN [a.key, e.action, b.key]
       } AS edges
ORDER BY key

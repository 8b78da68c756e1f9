// Label states by where the knowledge of them comes from, and starts and goals, for style sheets, which select by label;
// the caller holds the lock of the graph.
// What a layer repeats from its base keeps the source that it has there; how the base is sought: see spread_distances.
// Takes: graph, base (name or null), tasks (list of task keys), on (false takes the labels away).
// Returns: states (how many were seen).
UNWIND $tasks AS key
MATCH (s:State {graph: $graph, task: key})
USING INDEX s:State(graph, task)
MATCH (s)-[:MEMBER_OF]->(m)
REMOVE s:FromPlan:FromSearch:FromAround:FromRollout:FromTeacher:FromElsewhere:StartState:GoalState
WITH s, m WHERE $on
OPTIONAL MATCH (below:State {graph: $base}) WHERE s.inherited AND below.key STARTS WITH s.key
WITH s, m, coalesce(below.source, s.source) AS origin
WITH s, m, CASE
       WHEN origin = 'plan' THEN 'plan'
       WHEN origin IN ['search', 'expand'] THEN 'search'
       WHEN origin = 'around' THEN 'around'
       WHEN origin = 'rollout' THEN 'rollout'
       WHEN origin = 'distill' THEN 'teacher'
       ELSE 'elsewhere' END AS source,
     NOT EXISTS { MATCH (m)<-[:HAS_SUBGOAL]-()-[:HAS_SUBGOAL]->(n) WHERE n.index > m.index } AS goal
FOREACH (_ IN CASE source WHEN 'plan' THEN [1] ELSE [] END | SET s:FromPlan)
FOREACH (_ IN CASE source WHEN 'search' THEN [1] ELSE [] END | SET s:FromSearch)
FOREACH (_ IN CASE source WHEN 'around' THEN [1] ELSE [] END | SET s:FromAround)
FOREACH (_ IN CASE source WHEN 'rollout' THEN [1] ELSE [] END | SET s:FromRollout)
FOREACH (_ IN CASE source WHEN 'teacher' THEN [1] ELSE [] END | SET s:FromTeacher)
FOREACH (_ IN CASE source WHEN 'elsewhere' THEN [1] ELSE [] END | SET s:FromElsewhere)
FOREACH (_ IN CASE WHEN s.initial THEN [1] ELSE [] END | SET s:StartState)
FOREACH (_ IN CASE WHEN goal THEN [1] ELSE [] END | SET s:GoalState)
RETURN count(s) AS states

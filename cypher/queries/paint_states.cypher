// Label states by where the knowledge of them comes from, and starts and goals, for style sheets, which select by label;
// the caller holds the lock of the graph.
// Takes: graph, tasks (list of task keys), on (false takes the labels away).
// Returns: states (how many were seen).
UNWIND $tasks AS key
MATCH (s:State {graph: $graph, task: key})-[:MEMBER_OF]->(m:Subgoal)
REMOVE s:FromPlan:FromSearch:FromAround:FromRollout:FromTeacher:FromElsewhere:StartState:GoalState
WITH s, m WHERE $on
WITH s, m, CASE
       WHEN s.source = 'plan' THEN 'plan'
       WHEN s.source IN ['search', 'expand'] THEN 'search'
       WHEN s.source = 'around' THEN 'around'
       WHEN s.source = 'rollout' THEN 'rollout'
       WHEN s.source = 'distill' THEN 'teacher'
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

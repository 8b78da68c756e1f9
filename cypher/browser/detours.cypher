// The detours that rollouts took most often: ways that the graph does not know, and where in their tasks they begin
// Takes graph, for example  :params {graph: 'run-a'}. Rollouts are attached by `proas rollouts attach`.
MATCH (here)-[d:DETOUR {graph: $graph}]->(there) WHERE d.key IS NOT NULL
WITH here, d, there ORDER BY d.times DESC, d.key LIMIT 20
OPTIONAL MATCH (here)-[member:MEMBER_OF]->(m:Subgoal)<-[has:HAS_SUBGOAL]-(t:Task)
RETURN here, d, there, member, m, has, t

// Regions that rollouts reach and the graph does not: where they leave it, how far they go, where they come back
// Takes graph and task, for example  :params {graph: 'run-a', task: '...'}. Rollouts are attached by `proas rollouts attach`.
MATCH (stray:Stray {graph: $graph, task: $task})
WITH stray ORDER BY COUNT { (stray)<--(:Rollout) } DESC, stray.key LIMIT 60
MATCH (stray)-[d:DETOUR]-(other)
RETURN stray, d, other

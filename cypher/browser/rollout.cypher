// A rollout: its steps, each pointing at the state that it reached
// Takes graph and rollout (its id), for example  :params {graph: 'run-a', rollout: '...'}
MATCH (r:Rollout {graph: $graph, id: $rollout})-[step]->(place)
OPTIONAL MATCH (place)-[member:MEMBER_OF]->(m:Subgoal)
RETURN r, step, place, member, m

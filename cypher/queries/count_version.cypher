// Count new elements towards a version of a graph.
// Takes: graph, k, run, states, transitions (whole numbers).
MERGE (v:Version {graph: $graph, k: $k})
ON CREATE SET v.run = $run, v.added_states = 0, v.added_transitions = 0, v.at = datetime()
SET v.added_states = v.added_states + $states, v.added_transitions = v.added_transitions + $transitions

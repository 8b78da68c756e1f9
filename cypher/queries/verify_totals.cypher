// How many elements carry the name of a graph, attached to a task or not.
// Takes: graph.
// Returns: subgoals, states, transitions, successes.
RETURN COUNT { MATCH (m:Subgoal {graph: $graph}) WHERE m.key IS NOT NULL } AS subgoals,
       COUNT { MATCH (s:State {graph: $graph}) WHERE s.key IS NOT NULL } AS states,
       COUNT { MATCH ()-[e:TRANSITION {graph: $graph}]->() WHERE e.key IS NOT NULL } AS transitions,
       COUNT { MATCH (w:Success {graph: $graph}) WHERE w.key IS NOT NULL } AS successes

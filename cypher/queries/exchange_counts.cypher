// Stored elements of a graph by label and relationship type, without those of its base.
// Takes: graph (name).
// Returns: tasks, subgoals, states, transitions, successes, versions.
RETURN COUNT { MATCH (t:Task) WHERE t.graph = $graph AND t.key IS NOT NULL } AS tasks,
       COUNT { MATCH (:Task)-[:HAS_SUBGOAL]->(m:Subgoal) WHERE m.graph = $graph AND m.key IS NOT NULL } AS subgoals,
       COUNT { MATCH (s:State)-[:MEMBER_OF]->(:Subgoal) WHERE s.graph = $graph AND s.key IS NOT NULL } AS states,
       COUNT { MATCH ()-[e:TRANSITION]->() WHERE e.graph = $graph AND e.key IS NOT NULL } AS transitions,
       COUNT { MATCH (w:Success) WHERE w.graph = $graph AND w.key IS NOT NULL } AS successes,
       COUNT { MATCH (v:Version) WHERE v.graph = $graph AND v.k IS NOT NULL } AS versions

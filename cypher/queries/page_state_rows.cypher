// A page of the state nodes of one graph in order of their keys, each with the subgoal that it is a member of.
// Takes: graph, after (key before the page), limit.
// Returns: key, task, subgoal (key, empty where there is none), facts, name, initial, source, since, inherited.
MATCH (s:State {graph: $graph}) WHERE s.key > $after
WITH s ORDER BY s.graph, s.key LIMIT $limit
RETURN s.key AS key, s.task AS task,
       coalesce(head(COLLECT { MATCH (s)-[:MEMBER_OF]->(m:Subgoal) RETURN m.key }), '') AS subgoal,
       s.facts AS facts, s.name AS name, s.initial AS initial, s.source AS source, s.since AS since,
       s.inherited AS inherited
ORDER BY key

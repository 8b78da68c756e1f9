// A page of the transitions of one graph in order of their keys.
// Takes: graph, after (key before the page), limit.
// Returns: key, task, source_state, action, target_state, source, support, since, inherited.
MATCH (a)-[e:TRANSITION {graph: $graph}]->(b) WHERE e.key > $after
RETURN e.key AS key, e.task AS task, a.key AS source_state, e.action AS action, b.key AS target_state,
       e.source AS source, e.support AS support, e.since AS since, e.inherited AS inherited
ORDER BY e.graph, key LIMIT $limit

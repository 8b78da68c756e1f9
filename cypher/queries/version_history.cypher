// Versions of a graph in order.
// Takes: graph, after (version before the first), upto (last version).
// Returns: k, run, added_states, added_transitions, at (ISO 8601).
MATCH (v:Version {graph: $graph}) WHERE v.k > $after AND v.k <= $upto
RETURN v.k AS k, v.run AS run, v.added_states AS added_states, v.added_transitions AS added_transitions,
       toString(v.at) AS at
ORDER BY k

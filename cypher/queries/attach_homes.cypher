// Where the states that rollouts visited are: in the graph itself, else in what it sees of its base. Keys of the base are
// sought so that nothing of it is locked (see spread_distances).
// Takes: graph, base (name or null), base_version, keys (list of state keys).
// Returns: key, home (name of the graph that holds the state); no row for states that neither holds.
UNWIND $keys AS key
OPTIONAL MATCH (own:State {graph: $graph, key: key})
OPTIONAL MATCH (below:State {graph: $base}) WHERE below.key STARTS WITH key AND below.since <= $base_version
WITH key, CASE WHEN own IS NOT NULL THEN $graph WHEN below IS NOT NULL THEN $base END AS home
WHERE home IS NOT NULL
RETURN key, home

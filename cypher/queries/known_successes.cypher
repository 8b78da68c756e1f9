// Which of some successes a graph and the visible part of its base have joined already.
// Takes: graph, base (name or null), base_version, keys (list of success keys).
// Returns: key, since (version of this graph; 0 for one that the base brought).
UNWIND $keys AS key
OPTIONAL MATCH (own:Success {graph: $graph, key: key})
OPTIONAL MATCH (below:Success {graph: $base, key: key}) WHERE below.since <= $base_version
WITH key, own, below WHERE own IS NOT NULL OR below IS NOT NULL
RETURN key, coalesce(own.since, 0) AS since

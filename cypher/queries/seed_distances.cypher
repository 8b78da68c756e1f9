// Where measuring the distances of some tasks begins: goal states are at 0, and a layer's copies of states of its base
// are as far as the base shows, which is an upper bound (how the base is sought: see spread_distances); the caller holds the lock of the graph.
// Takes: graph, base (name or null), base_version, version (as of which a new distance holds), tasks (list of task keys).
// Returns: changed (states that got a distance).
CALL () {
  UNWIND $tasks AS key
  MATCH (t:Task {graph: $graph, key: key})-[:HAS_SUBGOAL]->(m:Subgoal)
  WITH t, m ORDER BY m.index DESC
  WITH t, head(collect(m)) AS goal
  MATCH (s:State)-[:MEMBER_OF]->(goal)
  WHERE s.distance IS NULL OR s.distance > 0
  SET s.distance = 0, s.distance_since = CASE WHEN s.inherited THEN 0 ELSE $version END
  RETURN count(s) AS goals
}
CALL () {
  UNWIND $tasks AS key
  MATCH (s:State {graph: $graph, task: key}) WHERE s.inherited AND s.distance IS NULL
  MATCH (below:State {graph: $base}) WHERE below.key STARTS WITH s.key AND below.distance_since <= $base_version
  SET s.distance = below.distance, s.distance_since = 0
  RETURN count(s) AS copies
}
RETURN goals + copies AS changed

// Forget the elements of a graph that came after a version; the caller holds its lock.
// Takes: graph, version.
// Returns: successes, states, transitions (how many were forgotten).
CALL () {
  MATCH ()-[e:TRANSITION {graph: $graph}]->() WHERE e.key IS NOT NULL AND e.since > $version
  DELETE e
  RETURN count(e) AS transitions
}
CALL () {
  MATCH (s:State {graph: $graph}) WHERE s.key IS NOT NULL AND s.since > $version
  DETACH DELETE s
  RETURN count(s) AS states
}
CALL () {
  MATCH (w:Success {graph: $graph}) WHERE w.key IS NOT NULL AND w.since > $version
  DELETE w
  RETURN count(w) AS successes
}
CALL () {
  MATCH (t:Task {graph: $graph}) WHERE t.key IS NOT NULL AND t.since > $version
  OPTIONAL MATCH (t)-[:HAS_SUBGOAL]->(m:Subgoal {graph: $graph})
  DETACH DELETE m, t
  RETURN count(t) AS tasks
}
CALL () {
  MATCH (v:Version {graph: $graph}) WHERE v.k IS NOT NULL AND v.k > $version
  DETACH DELETE v
  RETURN count(v) AS versions
}
RETURN successes, states, transitions

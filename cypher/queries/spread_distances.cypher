// Breadth first from the goals of some tasks, level by level: a state that a transition leads from to a state at a level
// is at the next level at most. Each level sees what the one before it wrote. Distances only ever fall, so that the work
// may end between any two levels and be taken up again. The caller holds the lock of the graph.
//
// A layer looks at the transitions of its base as well. A state of the base that the layer brings nearer gets a copy in
// the layer, for the base is never written; what is not nearer keeps the distance that the base shows. Nor is the base
// locked: a seek of a whole key would be, in a statement that writes, so that runs over one base waited for each other.
// All keys are of one length, so none is the beginning of another.
//
// Takes: graph, base (name or null), base_version, version (as of which a new distance holds), tasks (list of task keys),
//   searching (fact of states from which the way cannot be known: they get no distance), first, last (levels).
// Returns: changed (how often a state came nearer), further (states beyond the last level).
CALL () {
  UNWIND range($first, $last) AS level
  CALL (level) {
    UNWIND $tasks AS key
    MATCH (b:State {graph: $graph, task: key, distance: level})
    CALL (b, level) {
      MATCH (a:State)-[:TRANSITION]->(b)
      WHERE (a.distance IS NULL OR a.distance > level + 1) AND NOT $searching IN a.facts
      SET a.distance = level + 1, a.distance_since = $version
      RETURN count(*) AS own
    }
    CALL (b, level) {
      MATCH (end:State {graph: $base})<-[e:TRANSITION]-(below:State)-[:MEMBER_OF]->(m:Subgoal)
      WHERE end.key STARTS WITH b.key AND e.since <= $base_version AND NOT $searching IN below.facts
        AND (below.distance IS NULL OR below.distance_since > $base_version OR below.distance > level + 1)
      WITH DISTINCT below, m, level
      MERGE (copy:State {graph: $graph, key: below.key})
      ON CREATE SET copy.task = below.task, copy.facts = below.facts, copy.name = below.name,
        copy.initial = below.initial, copy.source = below.source, copy.since = 0, copy.inherited = true
      WITH copy, m, level
      WHERE copy.distance IS NULL OR copy.distance > level + 1
      SET copy.distance = level + 1, copy.distance_since = $version
      WITH copy, m
      MATCH (home:Subgoal {graph: $graph, key: m.key})
      MERGE (copy)-[:MEMBER_OF]->(home)
      RETURN count(*) AS copied
    }
    RETURN sum(own + copied) AS fallen
  }
  RETURN sum(fallen) AS changed
}
RETURN changed,
       COUNT { UNWIND $tasks AS key MATCH (s:State {graph: $graph, task: key}) WHERE s.distance > $last } AS further

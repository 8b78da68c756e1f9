// Create states in their subgoals; the caller holds the lock of the graph.
// Takes: graph, rows (list of maps: key, task, subgoal, facts, name, initial, source, since, inherited).
UNWIND $rows AS row
MATCH (m:Subgoal {graph: $graph, key: row.subgoal})
CREATE (:State {
  graph: $graph, key: row.key, task: row.task, facts: row.facts, name: row.name, initial: row.initial,
  source: row.source, since: row.since, inherited: row.inherited
})-[:MEMBER_OF]->(m)

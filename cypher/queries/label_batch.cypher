// Label a batch of rollouts with Re, PA and D as of a version, and say how far its states are from the goal: the one
// round trip of an iteration.
//
// A task's transitions are collected once, and its steps are looked up in that list; the steps of a rollout are numbers
// of the task's distinct transitions, so that each key travels and is compared once. A state is named by the step at
// which its rollout first visited it (0 for the start), so that the state after step t is new exactly when its name is
// t + 1. D counts the steps from t on that are no progress: between two such steps it is constant.
//
// Support and distance are stored as of now. A transition whose support is below min_support counts as absent; for one
// that a build added for the sake of distances alone (source around) the build's own does not count. What a layer
// repeats from its base adds to the support that it has there. A distance that changed since the version is not given.
//
// Takes: graph; version (or null for the current one); min_support; tasks, a list of maps
//   {key, transitions: [transition keys], places: [state keys],
//    rollouts: [{steps: [index into transitions], states: [first visits, T + 1]}]}.
// Returns one row: current (version of the graph, null when there is no such graph), dropping (truth value), k (the
//   version read), labels: for each task [distances: known ones as [index into places, distance]; rollouts: null
//   when the task is unknown, else [Re, PA, D] as lists].
OPTIONAL MATCH (g:ARG {name: $graph})
WITH g, coalesce($version, g.version) AS k
CALL (g, k) {
  UNWIND range(0, size($tasks) - 1) AS place
  WITH place, $tasks[place] AS task
  WITH place, task,
       COLLECT {
         MATCH ()-[e:TRANSITION {graph: $graph, task: task.key}]->()
         WHERE e.since <= k AND NOT e.inherited
           AND e.support >= $min_support + CASE e.source WHEN 'around' THEN 1 ELSE 0 END
         RETURN e.key
       } + COLLECT {
         MATCH ()-[e:TRANSITION {graph: g.base, task: task.key}]->()
         WHERE e.since <= g.base_version
           AND e.support >= $min_support + CASE e.source WHEN 'around' THEN 1 ELSE 0 END
         RETURN e.key
       } AS plain,
       COLLECT {
         MATCH ()-[e:TRANSITION {graph: $graph, task: task.key}]->() WHERE e.inherited RETURN [e.key, e.support]
       } AS repeated,
       COLLECT {
         UNWIND range(0, size(task.places) - 1) AS i
         OPTIONAL MATCH (s:State {graph: $graph, key: task.places[i]})
         OPTIONAL MATCH (below:State {graph: g.base, key: task.places[i]}) WHERE below.distance_since <= g.base_version
         WITH i, s, below.distance AS base
         WITH i, CASE WHEN s.distance IS NULL OR s.distance = base THEN base
                      WHEN s.distance_since <= k THEN s.distance END AS distance
         WHERE distance IS NOT NULL
         RETURN [i, distance]
       } AS distances
  WITH place, task, distances, plain + COLLECT {
         UNWIND repeated AS own
         MATCH ()-[e:TRANSITION {graph: g.base, key: own[0]}]->()
         WHERE own[1] + e.support >= $min_support + CASE e.source WHEN 'around' THEN 1 ELSE 0 END
         RETURN e.key
       } AS edges
  WITH place, distances, task.rollouts AS rollouts, size(edges) > 0 AS covered,
       [key IN task.transitions | key IN edges] AS known
  WITH place, distances, COLLECT {
         UNWIND range(0, size(rollouts) - 1) AS i
         WITH i, [step IN rollouts[i].steps | known[step]] AS re, rollouts[i].states AS states
         WITH i, re, [t IN range(0, size(re) - 1) | re[t] AND states[t + 1] = t + 1] AS pa
         WITH i, re, pa, [t IN range(0, size(pa) - 1) WHERE NOT pa[t]] AS missed
         ORDER BY i
         RETURN CASE WHEN covered THEN [re, pa, COLLECT {
           UNWIND range(0, size(missed)) AS j
           UNWIND range(
             CASE j WHEN 0 THEN 0 ELSE missed[j - 1] + 1 END,
             CASE j WHEN size(missed) THEN size(pa) - 1 ELSE missed[j] END
           ) AS t
           RETURN size(missed) - j ORDER BY t
         }] END
       } AS labels
  ORDER BY place
  RETURN collect([distances, labels]) AS labels
}
RETURN g.version AS current, coalesce(g.dropping, false) AS dropping, k, labels

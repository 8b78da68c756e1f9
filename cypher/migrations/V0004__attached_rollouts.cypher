// Rollouts that somebody attached to a graph to look at them, the states off the graph that they reached, and the ways
// off the graph that they took. Nothing that labels, evolves, verifies or exports a graph reads them.

CREATE CONSTRAINT arg_rollout_key_unique IF NOT EXISTS
FOR (r:Rollout) REQUIRE (r.graph, r.key) IS UNIQUE;

CREATE CONSTRAINT arg_stray_key_unique IF NOT EXISTS
FOR (p:Stray) REQUIRE (p.graph, p.key) IS UNIQUE;

CREATE CONSTRAINT arg_detour_key_unique IF NOT EXISTS
FOR ()-[d:DETOUR]-() REQUIRE (d.graph, d.key) IS UNIQUE;

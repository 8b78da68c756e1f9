// The reference graph: one uniqueness constraint for every key. They make concurrent writers safe, and their indexes
// are what every look-up by key seeks. `graph` is the name of the graph (a base or a layer) that an element lives in.

CREATE CONSTRAINT arg_name_unique IF NOT EXISTS
FOR (g:ARG) REQUIRE g.name IS UNIQUE;

CREATE CONSTRAINT arg_task_key_unique IF NOT EXISTS
FOR (t:Task) REQUIRE (t.graph, t.key) IS UNIQUE;

CREATE CONSTRAINT arg_subgoal_key_unique IF NOT EXISTS
FOR (m:Subgoal) REQUIRE (m.graph, m.key) IS UNIQUE;

CREATE CONSTRAINT arg_state_key_unique IF NOT EXISTS
FOR (s:State) REQUIRE (s.graph, s.key) IS UNIQUE;

CREATE CONSTRAINT arg_transition_key_unique IF NOT EXISTS
FOR ()-[e:TRANSITION]-() REQUIRE (e.graph, e.key) IS UNIQUE;

CREATE CONSTRAINT arg_success_key_unique IF NOT EXISTS
FOR (w:Success) REQUIRE (w.graph, w.key) IS UNIQUE;

CREATE CONSTRAINT arg_version_k_unique IF NOT EXISTS
FOR (v:Version) REQUIRE (v.graph, v.k) IS UNIQUE;

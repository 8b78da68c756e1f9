// Graphs that hold something of a task themselves, later versions first.
// Takes: task (key).
// Returns: name.
MATCH (g:ARG) WHERE NOT coalesce(g.dropping, false)
MATCH (t:Task {graph: g.name, key: $task})
RETURN g.name AS name
ORDER BY g.version DESC, name

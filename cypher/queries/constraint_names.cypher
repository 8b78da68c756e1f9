// Names of all constraints.
// Returns: name (text).
SHOW CONSTRAINTS YIELD name
RETURN name

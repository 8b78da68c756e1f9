"""A real Neo4j server on this machine, without Docker."""

"""The Agentic Reference Graph in Neo4j."""

"""State identity for each environment."""

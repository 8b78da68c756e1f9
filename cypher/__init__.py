"""Every Cypher statement of ProAS, one a file."""

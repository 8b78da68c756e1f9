// All graphs, and which are layers over which
MATCH (g:ARG)
OPTIONAL MATCH (g)-[over:LAYER_OF]->(base:ARG)
RETURN g, over, base

// Constraints of the reference graph, for the metadata of an exported file.
// Returns: name, type, on (labels or relationship types), properties.
SHOW CONSTRAINTS YIELD name, type, labelsOrTypes, properties
WHERE name STARTS WITH 'arg_'
RETURN name, type, labelsOrTypes AS on, properties
ORDER BY name

// Record a migration as applied, at the end of the chain; a second record of it changes nothing.
// Takes: version (whole number), description, source, checksum, by (release).
MERGE (m:__ProASMigration {version: $version})
ON CREATE SET m.description = $description, m.source = $source, m.checksum = $checksum, m.at = datetime(), m.by = $by
WITH m
MATCH (before:__ProASMigration {version: $version - 1})
MERGE (before)-[:MIGRATED_TO]->(m)

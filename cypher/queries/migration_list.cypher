// Migrations that the database has had.
// Returns: version (whole number), description, source, checksum, at (ISO 8601), by (release).
MATCH (m:__ProASMigration)
RETURN m.version AS version, m.description AS description, m.source AS source, m.checksum AS checksum,
       toString(m.at) AS at, m.by AS by
ORDER BY version

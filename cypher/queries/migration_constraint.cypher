// The constraint on the records of migrations, made before the first of them.
CREATE CONSTRAINT proas_migration_version_unique IF NOT EXISTS
FOR (m:__ProASMigration) REQUIRE m.version IS UNIQUE

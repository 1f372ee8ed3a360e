-- Counts migration tables: 0 in a new database.
-- name: schema_exists
SELECT COUNT(*) FROM sqlite_master
WHERE type = 'table' AND name = 'migration';

-- name: schema_exists
-- dialect: postgres
SELECT COUNT(*) FROM pg_tables
WHERE schemaname = current_schema() AND tablename = 'migration';

-- name: schema_version
SELECT COALESCE(MAX(version), 0), COALESCE(MAX(compatible), 0)
FROM migration;

-- name: schema_applied
INSERT INTO migration (version, compatible, name, applied_ms)
VALUES ($1, $2, $3, now_ms());

-- name: now
SELECT now_ms();

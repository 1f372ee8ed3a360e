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

-- The process that migrates holds this row until it commits.
-- name: schema_lock
SELECT version FROM migration WHERE version = 1;

-- name: schema_lock
-- dialect: postgres
SELECT version FROM migration WHERE version = 1 FOR UPDATE;

-- Returns which database a connection uses, and whether texts are sorted by
-- their bytes: in the order of a language, a comes before B, and spaces and
-- hyphens count last.
-- name: schema_place
SELECT 'main' AS place,
       CASE WHEN 'B' < 'a' AND 'a b' < 'a-a' AND '~' > 'z' THEN 1 ELSE 0 END
         AS bytewise;

-- name: schema_place
-- dialect: postgres
SELECT current_schema() AS place,
       CASE WHEN 'B' < 'a' AND 'a b' < 'a-a' AND '~' > 'z' THEN 1 ELSE 0 END
         AS bytewise;

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
-- their bytes: in a language's order, a comes before B, and spaces and hyphens
-- count last.
-- name: schema_place
SELECT 'main' AS place,
       CASE WHEN 'B' < 'a' AND 'a b' < 'a-a' AND '~' > 'z' THEN 1 ELSE 0 END
         AS bytewise;

-- name: schema_place
-- dialect: postgres
SELECT current_schema() AS place,
       CASE WHEN 'B' < 'a' AND 'a b' < 'a-a' AND '~' > 'z' THEN 1 ELSE 0 END
         AS bytewise;

-- Lists the objects that schema_foreign does not, with their texts. Indexes
-- that follow from their table's text, and tables that SQLite itself makes
-- with a known text, are left out.
-- name: schema_objects
SELECT COALESCE(type, '') || ' ' || COALESCE(name, '') AS what, sql AS text
FROM sqlite_master
WHERE (COALESCE(rootpage, 0) <> 0 OR type = 'index')
  AND sql IS NOT NULL
  AND sql NOT IN (
    'CREATE TABLE sqlite_sequence(name,seq)',
    'CREATE TABLE sqlite_stat1(tbl,idx,stat)',
    'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)')
ORDER BY what;

-- Only SQLite's are compared.
-- name: schema_objects
-- dialect: postgres
SELECT '' AS what, '' AS text WHERE 1 = 0;

-- Objects whose code runs when a statement uses the database, with their
-- texts: views, triggers, and virtual tables, which have no page.
-- name: schema_foreign
SELECT COALESCE(type, '') || ' ' || COALESCE(name, '') AS what,
       COALESCE(type, '') = 'view' AS is_view, COALESCE(sql, '') AS text
FROM sqlite_master
WHERE COALESCE(rootpage, 0) = 0 AND COALESCE(type, '') <> 'index';

-- Such objects on a server, if somebody other than Stoker's role may own them:
-- functions run with the rights of the role that calls them. The owner of the
-- table migration owns what migrations made. A table with the name of one of
-- Stoker's hides it if its schema comes first in search_path. A function that
-- somebody adds can match a call better than PostgreSQL's own.
-- name: schema_foreign
-- dialect: postgres
WITH me AS (SELECT oid, rolsuper FROM pg_roles WHERE rolname = current_user),
  trusted AS (
    SELECT r.oid FROM pg_roles r, me
    WHERE r.oid = me.oid OR r.rolsuper
       OR (NOT me.rolsuper
           AND (pg_has_role(me.oid, r.oid, 'USAGE')
                OR r.oid = (SELECT datdba FROM pg_database
                            WHERE datname = current_database())))),
  object AS (
    SELECT 'table ' || relname AS what, relowner AS owner
    FROM pg_class WHERE oid = to_regclass('migration')
    UNION ALL
    SELECT 'table ' || c.relname, c.relowner
    FROM pg_class c JOIN pg_class o ON o.relname = c.relname
      JOIN pg_class m ON m.oid = to_regclass('migration')
       AND m.relnamespace = o.relnamespace
    WHERE c.relnamespace <> m.relnamespace AND pg_table_is_visible(c.oid)
    UNION ALL
    SELECT 'trigger ' || t.tgname || ' of ' || c.relname, p.proowner
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
      JOIN pg_class m ON m.oid = to_regclass('migration')
       AND m.relnamespace = c.relnamespace AND m.relowner = c.relowner
      JOIN pg_proc p ON p.oid = t.tgfoid
    WHERE NOT t.tgisinternal
    UNION ALL
    SELECT 'function ' || p.proname, p.proowner
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = ANY (current_schemas(false))
      AND (p.proname IN ('now_ms', 'run_day_make', 'run_days_drop')
           OR EXISTS (SELECT 1 FROM pg_proc b
                      WHERE b.pronamespace = 'pg_catalog'::regnamespace
                        AND b.proname = p.proname)))
SELECT what || ' of the role ' || pg_get_userbyid(owner) AS what,
       0 AS is_view, '' AS text
FROM object WHERE owner NOT IN (SELECT oid FROM trusted);

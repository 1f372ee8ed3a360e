-- Columns: the fields of struct blob, in order.

-- name: blob_insert
INSERT INTO blob (id, session, kind, store, name, start, length, checksum,
                  host, created_ms, deleted_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, now_ms(), 0);

-- name: blob_of_session
SELECT id, kind, name, checksum, start, length, store FROM blob
WHERE session = $1 AND kind = $2 AND deleted_ms = 0 LIMIT 1;

-- name: blob_mark_kind
UPDATE blob SET deleted_ms = now_ms()
WHERE session = $1 AND kind = $2 AND deleted_ms = 0;

-- name: blob_mark_session
UPDATE blob SET deleted_ms = now_ms() WHERE session = $1 AND deleted_ms = 0;

-- name: blob_marked
-- A file is dropped only by its host.
SELECT id, name FROM blob
WHERE deleted_ms > 0 AND store = $1 AND (store <> 'file' OR host IN ('', $2))
LIMIT 100;

-- name: blob_adopt
UPDATE blob SET host = $1 WHERE host <> $1;

-- name: blob_forget
DELETE FROM blob WHERE id = $1;

-- Bytes belong to blobs, or to segments in the database.
-- name: blob_known
SELECT 1 FROM blob WHERE id = $1
UNION ALL SELECT 1 FROM segment WHERE id = $1;

-- name: blob_live
SELECT 1 FROM blob WHERE id = $1 AND deleted_ms = 0;

-- Columns: the fields of struct extent, in order.
-- name: blob_after
SELECT id, session AS owner, name, checksum, 0 AS start, length FROM blob
WHERE deleted_ms = 0 AND store = 'file' AND id > $1 ORDER BY id LIMIT 500;

-- Blocks of hosts and debug files have separate retentions.
-- name: blob_usage
SELECT CAST(COALESCE(SUM(length), 0) AS BIGINT), COUNT(*)
FROM blob WHERE deleted_ms = 0 AND kind NOT IN ('block', 'debug');

-- name: bytes_db_put
INSERT INTO blob_bytes (name, created_ms, bytes)
VALUES ($1, now_ms(), $2) ON CONFLICT DO NOTHING;

-- name: bytes_db_get
-- The total length, and n bytes from a position; the first byte is 1.
SELECT LENGTH(bytes), SUBSTR(bytes, CAST($1 AS INTEGER), CAST($2 AS INTEGER))
FROM blob_bytes WHERE name = $3;

-- name: bytes_db_drop
DELETE FROM blob_bytes WHERE name = $1;

-- name: bytes_db_after
SELECT name FROM blob_bytes
WHERE name > $1 AND created_ms <= now_ms() - $2 ORDER BY name LIMIT 500;

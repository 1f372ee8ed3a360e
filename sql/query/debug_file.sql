-- Debug files that clients push: store/debug_file.h.
-- Columns are the fields of struct debug_file, in order.

-- name: debug_file_insert
INSERT INTO debug_file (id, tenant, name, build_id, go_id, htlhash, state,
                        created_by, bytes, created_ms, used_ms)
VALUES ($1, $2, $3, $4, $5, $6, 'stored', $7, CAST($8 AS BIGINT), now_ms(),
        now_ms());

-- name: debug_file_get
SELECT id, tenant, name, build_id, go_id, htlhash, state, created_by, bytes,
       created_ms, used_ms
FROM debug_file WHERE tenant = $1 AND id = $2;

-- name: debug_file_list
SELECT id, tenant, name, build_id, go_id, htlhash, state, created_by, bytes,
       created_ms, used_ms
FROM debug_file
WHERE tenant = $1 AND ($2 = '' OR build_id = $2 OR go_id = $2 OR htlhash = $2)
  AND (created_ms, id) < (CAST($3 AS BIGINT), $4)
ORDER BY created_ms DESC, id DESC LIMIT CAST($5 AS BIGINT);

-- name: debug_file_same
SELECT id FROM debug_file WHERE tenant = $1 AND build_id = $2;

-- Columns: the fields of struct debug_file_use, in order.
-- name: debug_file_of
SELECT CAST($1 AS TEXT) AS wanted, id, build_id FROM debug_file
WHERE (build_id = $1 OR go_id = $1 OR htlhash = $1) AND tenant = $2
  AND state <> 'refused'
ORDER BY created_ms DESC LIMIT 1;

-- name: debug_file_any
SELECT CAST(COUNT(*) AS BIGINT) FROM
  (SELECT 1 AS one FROM debug_file WHERE tenant = $1 LIMIT 1) f;

-- The newest file of each program; first files that have named nothing yet,
-- newest first, then the least recently used.
-- name: debug_file_of_session
SELECT b.build_id AS wanted, f.id, f.build_id
FROM session_build b JOIN debug_file f ON f.id =
  (SELECT g.id FROM debug_file g
   WHERE g.tenant = $1 AND g.state <> 'refused' AND
     (g.build_id = b.build_id OR g.go_id = b.build_id OR
      g.htlhash = b.build_id)
   ORDER BY g.created_ms DESC, g.id LIMIT 1)
WHERE b.session = $2
ORDER BY CASE WHEN f.state = 'stored' THEN -f.used_ms ELSE f.used_ms END,
  b.build_id LIMIT CAST($3 AS BIGINT);

-- name: debug_file_delete
DELETE FROM debug_file WHERE tenant = $1 AND id = $2;

-- name: debug_file_used
UPDATE debug_file SET state = 'used', used_ms = now_ms() WHERE id = $1;

-- name: debug_file_refuse
UPDATE debug_file SET state = 'refused' WHERE id = $1;

-- Fields of struct holding, in order; the largest holding comes first.
-- name: debug_file_holdings
SELECT tenant, CAST(SUM(bytes) AS BIGINT) AS bytes FROM debug_file
GROUP BY tenant ORDER BY bytes DESC, tenant;

-- name: debug_file_oldest
SELECT id, tenant, bytes FROM debug_file WHERE tenant = $1
ORDER BY used_ms, id LIMIT 1;

-- name: debug_file_expired
SELECT id, tenant, bytes FROM debug_file
WHERE used_ms < now_ms() - CAST($1 AS BIGINT) ORDER BY used_ms, id LIMIT 1;

-- Modules that a new file may name are queued again, even while they are being
-- named.
-- name: debug_file_names
UPDATE unnamed_module SET state = 'queued', tries = 0, asked_ms = now_ms()
WHERE tenant = $1 AND named < frames
  AND (build_id = $2 OR (build_id = $3 AND $3 <> '') OR
       (build_id = $4 AND $4 <> ''));

-- name: debug_file_sessions
UPDATE symbolize
SET state = 'queued', error = '', tries = 0, asked_ms = now_ms(), ended_ms = 0
WHERE session IN
  (SELECT b.session FROM session_build b JOIN session s ON s.id = b.session
   WHERE s.tenant = $1 AND
     (b.build_id = $2 OR (b.build_id = $3 AND $3 <> '') OR
      (b.build_id = $4 AND $4 <> '')));

-- Sessions that have never been requested to be named, newest first.
-- name: debug_file_new_sessions
SELECT s.id FROM session s
WHERE s.tenant = $1 AND s.id IN
  (SELECT b.session FROM session_build b
   WHERE b.build_id = $2 OR (b.build_id = $3 AND $3 <> '') OR
     (b.build_id = $4 AND $4 <> ''))
  AND NOT EXISTS (SELECT 1 FROM symbolize y WHERE y.session = s.id)
ORDER BY s.created_ms DESC, s.id LIMIT CAST($5 AS BIGINT);

-- name: session_build_add
INSERT INTO session_build (session, build_id) VALUES ($1, $2)
ON CONFLICT DO NOTHING;

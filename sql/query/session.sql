-- name: session_insert
INSERT INTO session (id, tenant, service, type, origin, status, ordinal,
                     asked_seconds, asked_rate, labels, created_by,
                     created_ms, started_ms, completed_ms, duration_ms, rate,
                     sample_count, top_functions, quality, host)
SELECT $1, tenant, name, $2, $3, $4, CAST($5 AS BIGINT),
       CAST($6 AS BIGINT), CAST($7 AS BIGINT), $8, $9,
       now_ms(), now_ms(), 0, 0, 0, 0, '[]', '{}', $10
FROM service WHERE tenant = $11 AND name = $12
ON CONFLICT DO NOTHING;

-- name: session_running
SELECT id FROM session
WHERE tenant = $1 AND service = $2 AND type = $3 AND host = $4
  AND status = 'running' AND origin = 'capture';

-- name: session_started
UPDATE session SET started_ms = now_ms() WHERE id = $1;

-- $6 is the time since sampling began, which follows the claim; 0 unknown.
-- name: session_result
UPDATE session
SET duration_ms = $1, rate = $2, sample_count = $3, top_functions = $4,
    quality = $5,
    started_ms = CASE
        WHEN CAST($6 AS BIGINT) BETWEEN 1 AND now_ms() - started_ms
        THEN now_ms() - CAST($6 AS BIGINT) ELSE started_ms END
WHERE id = $7;

-- name: session_labels
SELECT labels FROM session WHERE id = $1;

-- name: session_relabel
UPDATE session SET labels = $1 WHERE id = $2;

-- name: session_ended
UPDATE session SET status = $1, completed_ms = now_ms() WHERE id = $2;

-- name: session_times
UPDATE session SET started_ms = CAST($1 AS BIGINT), completed_ms = CAST($2 AS BIGINT)
WHERE id = $3;

-- name: session_get
SELECT * FROM session_row WHERE id = $1 AND tenant = $2;

-- Ids match by prefix. SQLite uses the index of ids, in its order, since
-- the tenant is an expression.
-- name: session_find
SELECT * FROM session_row
WHERE +tenant = $1 AND id BETWEEN $2 AND $2 || '{'
ORDER BY id LIMIT CAST($3 AS BIGINT);

-- name: session_find
-- dialect: postgres
SELECT * FROM session_row
WHERE tenant = $1 AND starts_with(id, $2)
ORDER BY id LIMIT CAST($3 AS BIGINT);

-- name: session_list
SELECT * FROM session_row
WHERE tenant = $1 AND (created_ms, id) < (CAST($2 AS BIGINT), $3)
  AND created_ms >= CAST($4 AS BIGINT)
  AND ($5 = '' OR type = $5) AND ($6 = '' OR status = $6)
  AND ($7 = '' OR origin = $7)
ORDER BY created_ms DESC, id DESC LIMIT CAST($8 AS BIGINT);

-- The list of one service is a separate statement, so that its index is used.
-- name: session_list_service
SELECT * FROM session_row
WHERE tenant = $1 AND (created_ms, id) < (CAST($2 AS BIGINT), $3)
  AND created_ms >= CAST($4 AS BIGINT)
  AND ($5 = '' OR type = $5) AND ($6 = '' OR status = $6)
  AND ($7 = '' OR origin = $7) AND service = $8
ORDER BY created_ms DESC, id DESC LIMIT CAST($9 AS BIGINT);

-- History is ordered by start: an upload may be older than its row.
-- name: session_history
SELECT * FROM session_row
WHERE tenant = $1 AND (started_ms, id) < (CAST($2 AS BIGINT), $3)
  AND started_ms >= CAST($4 AS BIGINT)
  AND ($5 = '' OR type = $5) AND ($6 = '' OR status = $6)
  AND ($7 = '' OR origin = $7) AND service = $8
ORDER BY started_ms DESC, id DESC LIMIT CAST($9 AS BIGINT);

-- Finds the previous session of the same service, type and processes.
-- name: session_before
SELECT * FROM session_row
WHERE tenant = $1 AND service = $2 AND type = $3
  AND (created_ms, id) < (CAST($4 AS BIGINT), $5)
  AND ordinal = CAST($6 AS BIGINT) AND status = 'completed'
ORDER BY created_ms DESC, id DESC LIMIT 1;

-- Columns of struct listed_session. Only the newest sessions are examined.
-- name: session_listed
SELECT s.id, s.started_ms
FROM (SELECT id, started_ms FROM session
      WHERE tenant = $1 AND service = $2 AND status = 'completed'
      ORDER BY started_ms DESC, id DESC LIMIT 200) s
WHERE EXISTS (SELECT 1 FROM blob b WHERE b.session = s.id
              AND b.kind = 'listing' AND b.deleted_ms = 0)
ORDER BY s.started_ms DESC, s.id DESC LIMIT 8;

-- name: session_delete
DELETE FROM session
WHERE id = $1 AND tenant = $2 AND status <> 'running'
  AND NOT EXISTS (SELECT 1 FROM baseline b WHERE b.session = $1);

-- name: session_status
SELECT status FROM session WHERE id = $1 AND tenant = $2;

-- Fields of struct holding, in order; the largest holding comes first.
-- name: session_holdings
SELECT s.tenant, CAST(SUM(b.length) AS BIGINT) AS bytes
FROM blob b JOIN session s ON s.id = b.session
WHERE b.deleted_ms = 0
GROUP BY s.tenant ORDER BY bytes DESC, s.tenant;

-- Only sessions with bytes are deleted, and never sessions of baselines.
-- name: session_oldest
SELECT s.id, s.tenant, b.length AS bytes
FROM session s JOIN blob b ON b.session = s.id
WHERE s.tenant = $1 AND b.deleted_ms = 0 AND s.status <> 'running'
  AND s.pinned = 0
  AND NOT EXISTS (SELECT 1 FROM baseline h WHERE h.session = s.id)
ORDER BY s.created_ms, s.id LIMIT 1;

-- name: session_expired
SELECT id, tenant, 0 AS bytes FROM session
WHERE created_ms < now_ms() - CAST($1 AS BIGINT) AND status <> 'running'
  AND pinned = 0
  AND NOT EXISTS (SELECT 1 FROM baseline h WHERE h.session = session.id)
ORDER BY created_ms LIMIT 1;

-- The host that names a profile of a service: the host that captured it, else
-- one where the service runs, else one with a live worker. Only hosts that
-- share the store can read what is stored. $1 is the host of a capture, or ''.
-- name: symbolize_host
SELECT w.host FROM worker w WHERE w.tenants = '*'
ORDER BY CASE WHEN w.host = $1 THEN 0 ELSE 1 END,
  CASE WHEN w.alive_until_ms > now_ms() THEN 0 ELSE 1 END,
  CASE WHEN EXISTS (SELECT 1 FROM process p
                    WHERE p.tenant = $2 AND p.service = $3
                      AND p.host = w.host) THEN 0 ELSE 1 END,
  w.heartbeat_ms DESC, w.host
LIMIT 1;

-- name: symbolize_of
SELECT s.tenant, s.service, COALESCE(j.host, '') AS host
FROM session s LEFT JOIN job j ON j.session = s.id WHERE s.id = $1;

-- A request that is queued or running is left unchanged.
-- name: symbolize_ask
INSERT INTO symbolize (session, host, state, error, attempt, tries, asked_ms,
                       ended_ms)
SELECT s.id, $1, 'queued', '', 0, 0, now_ms(), 0
FROM session s WHERE s.id = $2 AND s.tenant = $3
ON CONFLICT (session) DO UPDATE SET
  host = excluded.host, state = 'queued', error = '', tries = 0,
  asked_ms = excluded.asked_ms, ended_ms = 0
WHERE symbolize.state IN ('done', 'failed');

-- Columns: the fields of struct symbolize, in order.
-- name: symbolize_get
SELECT y.session, s.tenant, s.service, s.origin, y.state, y.error, s.quality,
       y.attempt, y.asked_ms, y.ended_ms
FROM symbolize y JOIN session s ON s.id = y.session WHERE y.session = $1;

-- A worker runs this before it claims, without a lock. Tenants take turns,
-- starting after the one whose request ended last, so that one with many does
-- not keep the others waiting.
-- name: symbolize_waiting
SELECT y.session FROM symbolize y JOIN session s ON s.id = y.session
WHERE y.host = $1 AND y.state = 'queued'
ORDER BY CASE WHEN s.tenant > COALESCE(
    (SELECT l.tenant FROM symbolize e JOIN session l ON l.id = e.session
     WHERE e.host = $1 AND e.ended_ms > 0
     ORDER BY e.ended_ms DESC, e.session LIMIT 1), '') THEN 0 ELSE 1 END,
  s.tenant, y.asked_ms, y.session LIMIT 1;

-- name: symbolize_claim
UPDATE symbolize
SET state = 'running', attempt = attempt + 1, tries = tries + 1
WHERE session = $1 AND state = 'queued';

-- name: symbolize_end
UPDATE symbolize SET state = $1, error = $2, ended_ms = now_ms()
WHERE session = $3 AND attempt = $4 AND state = 'running';

-- name: symbolize_again
UPDATE symbolize SET state = 'queued', tries = tries - 1
WHERE session = $1 AND attempt = $2 AND state = 'running';

-- name: session_renamed
UPDATE session SET top_functions = $1, quality = $2 WHERE id = $3;

-- Requests that a worker left running are queued again, up to the limit of
-- tries.
-- name: symbolize_take_over
UPDATE symbolize
SET error = CASE WHEN tries < CAST($1 AS BIGINT) THEN '' ELSE $2 END,
    ended_ms = CASE WHEN tries < CAST($1 AS BIGINT) THEN 0 ELSE now_ms() END,
    state = CASE WHEN tries < CAST($1 AS BIGINT) THEN 'queued' ELSE 'failed'
            END
WHERE host = $3 AND state = 'running';

-- name: job_insert
INSERT INTO job (session, host, state, attempt, lease_until_ms, progress,
                 phase, error_code, error_message, cancel_requested,
                 created_ms)
VALUES ($1, $2, 'queued', 0, 0, 0, 'queued', '', '', 0, now_ms());

-- A worker runs this before it looks for the next job.
-- name: job_waiting
SELECT 1 FROM job WHERE host = $1 AND state = 'queued' LIMIT 1;

-- Runs without a lock. The tenant with the fewest captures on the host comes
-- first; if $2 is 0, only tenants that have none there are served.
-- name: job_next
SELECT j.session FROM job j JOIN session s ON s.id = j.session
  LEFT JOIN (SELECT o.tenant, COUNT(*) AS n
             FROM job r JOIN session o ON o.id = r.session
             WHERE r.host = $1 AND r.state = 'running'
             GROUP BY o.tenant) b ON b.tenant = s.tenant
WHERE j.host = $1 AND j.state = 'queued'
  AND (CAST($2 AS BIGINT) = 1 OR b.n IS NULL)
ORDER BY COALESCE(b.n, 0), j.created_ms, j.session LIMIT 1;

-- The number of tenants with processes but no capture on a host, and of
-- captures there.
-- name: job_places
SELECT (SELECT COUNT(*)
        FROM (SELECT DISTINCT tenant FROM process WHERE host = $1) t
        WHERE NOT EXISTS
          (SELECT 1 FROM job j JOIN session s ON s.id = j.session
           WHERE j.host = $1 AND j.state = 'running'
             AND s.tenant = t.tenant)) AS idle,
  (SELECT COUNT(*) FROM job WHERE host = $1 AND state = 'running') AS running;

-- name: job_claim
UPDATE job
SET state = 'running', attempt = attempt + 1, phase = 'capturing',
    progress = 0, samples = 0,
    lease_until_ms = now_ms() + CAST($1 AS BIGINT)
WHERE session = $2 AND state = 'queued';

-- Columns: the fields of struct job, in order.
-- name: job_get
SELECT s.id AS session, s.tenant, s.service, s.type, j.attempt, s.ordinal,
       s.asked_seconds, s.asked_rate, j.cancel_requested
FROM job j JOIN session s ON s.id = j.session WHERE j.session = $1;

-- name: job_progress
UPDATE job
SET lease_until_ms = now_ms() + CAST($1 AS BIGINT), progress = $2, phase = $3,
    samples = CAST($4 AS BIGINT)
WHERE session = $5 AND attempt = $6 AND state = 'running'
RETURNING cancel_requested;

-- The update changes nothing: it locks the row, and shows whether the attempt
-- is still the current one.
-- name: job_hold
UPDATE job SET attempt = $1
WHERE attempt = $1 AND session = $2 AND state = 'running';

-- name: job_end
UPDATE job
SET state = $1, phase = $1, error_code = $2, error_message = $3,
    progress = CASE WHEN $1 = 'done' THEN 1 ELSE progress END
WHERE session = $4 AND attempt = $5 AND state = 'running';

-- name: job_requeue
UPDATE job
SET state = 'queued', phase = 'queued', progress = 0, samples = 0,
    lease_until_ms = 0
WHERE session = $1 AND attempt = $2 AND state = 'running';

-- name: job_exists
SELECT 1 FROM job j JOIN session s ON s.id = j.session
WHERE j.session = $1 AND s.tenant = $2;

-- name: job_end_queued
UPDATE job SET state = $1, phase = $1, error_code = $2, error_message = $3
WHERE session = $4 AND state = 'queued';

-- name: job_cancel_running
UPDATE job SET cancel_requested = 1 WHERE session = $1 AND state = 'running';

-- name: job_complete_running
UPDATE job SET cancel_requested = 2
WHERE session = $1 AND state = 'running' AND cancel_requested = 0;

-- name: job_orphaned
SELECT j.session, s.tenant, s.service, s.type, j.attempt, s.ordinal,
       s.asked_seconds, s.asked_rate, j.cancel_requested
FROM job j JOIN session s ON s.id = j.session
WHERE j.state = 'running' AND j.host = $1
LIMIT 1;

-- name: job_expired
SELECT j.session, s.tenant, s.service, s.type, j.attempt, s.ordinal,
       s.asked_seconds, s.asked_rate, j.cancel_requested
FROM job j JOIN session s ON s.id = j.session
WHERE j.state = 'running' AND j.lease_until_ms < now_ms() - CAST($1 AS BIGINT)
LIMIT 1;

-- Jobs that wait for a host whose worker has been silent for $1 ms.
-- name: job_stranded
SELECT j.session FROM job j LEFT JOIN worker w ON w.host = j.host
WHERE j.state = 'queued' AND COALESCE(w.alive_until_ms, 0) <= now_ms()
  AND COALESCE(w.heartbeat_ms, j.created_ms) < now_ms() - CAST($1 AS BIGINT)
LIMIT 1;

-- name: job_counts
SELECT COALESCE(SUM(CASE WHEN state = 'queued' THEN 1 ELSE 0 END), 0),
       COALESCE(SUM(CASE WHEN state = 'running' THEN 1 ELSE 0 END), 0)
FROM job WHERE state = 'queued' OR state = 'running';

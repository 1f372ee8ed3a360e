-- Columns of struct agent_job, struct agent_held and struct agent_service, in
-- their order.

-- --- the centre's side ------------------------------------------------------

-- name: agent_running
SELECT j.session, s.tenant, s.service, s.type, s.origin, s.labels,
       s.created_by, j.host, j.state, j.error_code, j.attempt, s.ordinal,
       s.asked_seconds, s.asked_rate, j.cancel_requested
FROM job j JOIN session s ON s.id = j.session
WHERE j.state = 'running' AND j.host = $1
ORDER BY j.created_ms, j.session LIMIT CAST($2 AS BIGINT);

-- name: agent_find
SELECT j.session, s.tenant, s.service, s.type, s.origin, s.labels,
       s.created_by, j.host, j.state, j.error_code, j.attempt, s.ordinal,
       s.asked_seconds, s.asked_rate, j.cancel_requested
FROM job j JOIN session s ON s.id = j.session
WHERE j.session = $1 AND j.host = $2;

-- Resumes a job that was given up although the host still works on it.
-- name: agent_resume
UPDATE job
SET state = 'running', phase = 'capturing', error_code = '',
    error_message = '', lease_until_ms = now_ms() + CAST($1 AS BIGINT)
WHERE session = $2 AND host = $3 AND attempt = $4 AND state = 'queued';

-- name: agent_revive
UPDATE job
SET state = 'running', phase = 'storing', error_code = '', error_message = ''
WHERE session = $1 AND attempt = $2
  AND (state = 'queued' OR (state = 'failed' AND error_code = 'WorkerDied'));

-- A text that changes whenever a service that this host may see, or its
-- continuous profiling, changes.
-- name: agent_generation
SELECT COUNT(*), COALESCE(MAX(updated_ms), 0),
       CAST(COALESCE(SUM(updated_ms), 0) AS BIGINT)
FROM (SELECT updated_ms FROM service WHERE tenant = $1 AND host IN ('', $2)
      UNION ALL
      SELECT updated_ms FROM continuous WHERE tenant = $1) AS changed;

-- Each poll runs this, so the count of a large fleet stops early.
-- name: agent_alive
SELECT COUNT(*)
FROM (SELECT 1 FROM worker WHERE alive_until_ms > (SELECT now_ms())
      LIMIT CAST($1 AS BIGINT)) AS alive;

-- --- a host's side ----------------------------------------------------------

-- name: agent_put
INSERT INTO agent_job (session, tenant, attempt, dropped, refused, taken_ms)
VALUES ($1, $2, $3, 0, 0, now_ms())
ON CONFLICT (session) DO UPDATE SET
  attempt = excluded.attempt, dropped = 0;

-- name: agent_held
SELECT a.session, a.tenant, COALESCE(s.status, '') AS status,
       COALESCE(j.state, '') AS state, COALESCE(j.phase, '') AS phase,
       COALESCE(j.error_code, '') AS error_code,
       COALESCE(j.error_message, '') AS error_message,
       a.attempt, a.dropped, a.refused, COALESCE(j.samples, 0) AS samples,
       COALESCE(j.progress, 0) AS progress
FROM agent_job a LEFT JOIN session s ON s.id = a.session
                 LEFT JOIN job j ON j.session = a.session
ORDER BY a.taken_ms, a.session LIMIT CAST($1 AS BIGINT);

-- name: agent_drop
UPDATE agent_job SET dropped = 1 WHERE session = $1;

-- name: agent_refuse
UPDATE agent_job SET refused = 1 WHERE session = $1;

-- name: agent_forget
DELETE FROM agent_job WHERE session = $1;

-- name: agent_service_put
INSERT INTO agent_service (tenant, service, made) VALUES ($1, $2, $3)
ON CONFLICT DO NOTHING;

-- name: agent_service_list
SELECT tenant, service, made FROM agent_service ORDER BY tenant, service;

-- name: agent_tenants
SELECT DISTINCT tenant FROM agent_service ORDER BY tenant LIMIT 1000;

-- name: agent_service_forget
DELETE FROM agent_service WHERE tenant = $1 AND service = $2;

-- name: agent_processes
SELECT p.host, p.tenant, p.service, p.boot_id, p.argv0, p.cmdline, p.ordinal,
       p.pid, p.start_time, p.seen_ms
FROM process p JOIN agent_service a
  ON a.tenant = p.tenant AND a.service = p.service
WHERE p.host = $1 ORDER BY p.tenant, p.service, p.ordinal;

-- name: agent_trees
SELECT t.host, t.tenant, t.service, t.followed, t.other_unit, t.out_of_scope,
       t.too_many, t.refused
FROM process_tree t JOIN agent_service a
  ON a.tenant = t.tenant AND a.service = t.service
WHERE t.host = $1 ORDER BY t.tenant, t.service;

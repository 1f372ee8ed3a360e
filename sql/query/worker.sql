-- Columns of struct worker, struct worker_process and struct process_tree, in
-- their order.

-- A worker that shares this store serves all tenants, '*'; no host of a fleet
-- takes its row.
-- name: worker_put
INSERT INTO worker (host, boot_id, version, pid, capabilities,
                    started_ms, heartbeat_ms, alive_until_ms, tenants, told_ms,
                    clock_ms, waiting_windows, waiting_bytes, waiting_results,
                    waiting_since_ms)
VALUES ($1, $2, $3, $4, $5, now_ms(), now_ms(),
        now_ms() + CAST($6 AS BIGINT), $7, $8, $9, $10, $11, $12, $13)
ON CONFLICT (host) DO UPDATE SET
  started_ms = CASE
    WHEN worker.pid = excluded.pid AND worker.boot_id = excluded.boot_id
    THEN worker.started_ms ELSE excluded.started_ms END,
  boot_id = excluded.boot_id, version = excluded.version,
  pid = excluded.pid, capabilities = excluded.capabilities,
  heartbeat_ms = excluded.heartbeat_ms,
  alive_until_ms = excluded.alive_until_ms, tenants = excluded.tenants,
  told_ms = excluded.told_ms, clock_ms = excluded.clock_ms,
  waiting_windows = excluded.waiting_windows,
  waiting_bytes = excluded.waiting_bytes,
  waiting_results = excluded.waiting_results,
  waiting_since_ms = excluded.waiting_since_ms
  WHERE worker.tenants <> '*' OR excluded.tenants = '*';

-- A host of a fleet is shown only to its tenants.
-- name: worker_list
SELECT host, boot_id, version, capabilities, pid, started_ms, heartbeat_ms,
       alive_until_ms, told_ms, clock_ms, waiting_windows, waiting_bytes,
       waiting_results, waiting_since_ms,
       CASE WHEN alive_until_ms > now_ms() THEN 1 ELSE 0 END AS alive,
       CASE WHEN tenants = '*' THEN 0 ELSE 1 END AS joined
FROM worker
WHERE ($1 = '' OR tenants = '*'
       OR replace(' ' || tenants || ' ', ' ' || $1 || ' ', '')
          <> ' ' || tenants || ' ')
  AND abs(clock_ms) > CAST($2 AS BIGINT)
ORDER BY host;

-- Fields of struct serving, in order. replace() tests, in both dialects,
-- whether the tenant is one of the worker's.
-- name: worker_serving
SELECT w.host,
       CASE WHEN EXISTS (SELECT 1 FROM process p
                         WHERE p.tenant = $1 AND p.service = $2
                           AND p.host = w.host
                           AND (CAST($3 AS BIGINT) < 0
                                OR p.ordinal = CAST($3 AS BIGINT)))
            THEN 1 ELSE 0 END AS runs
FROM worker w
WHERE w.alive_until_ms > now_ms() AND ($4 = '' OR w.host = $4)
  AND (w.tenants = '*' OR replace(' ' || w.tenants || ' ', ' ' || $1 || ' ',
                                  '') <> ' ' || w.tenants || ' ')
ORDER BY runs DESC, w.host LIMIT CAST($5 AS BIGINT);

-- name: worker_tenants
SELECT tenants,
       CASE WHEN alive_until_ms > now_ms() THEN boot_id ELSE '' END AS boot_id
FROM worker WHERE host = $1;

-- name: worker_forget
DELETE FROM worker WHERE host = $1 AND alive_until_ms <= now_ms();

-- The row of a worker that shares this store is never deleted.
-- name: worker_prune
DELETE FROM worker
WHERE tenants <> '*' AND heartbeat_ms < now_ms() - CAST($1 AS BIGINT);

-- name: worker_look_ask
UPDATE worker SET look_wanted_ms = now_ms() WHERE host = $1
RETURNING look_wanted_ms;

-- name: worker_look
SELECT look_wanted_ms, looked_ms FROM worker WHERE host = $1;

-- name: worker_looked
UPDATE worker SET looked_ms = $1 WHERE host = $2;

-- name: worker_stop
UPDATE worker SET alive_until_ms = 0 WHERE host = $1;

-- name: process_put
INSERT INTO process (host, tenant, service, boot_id, argv0, cmdline, ordinal,
                     pid, start_time, seen_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, now_ms())
ON CONFLICT (tenant, service, host, ordinal) DO UPDATE SET
  boot_id = excluded.boot_id, argv0 = excluded.argv0,
  cmdline = excluded.cmdline, pid = excluded.pid,
  start_time = excluded.start_time, seen_ms = excluded.seen_ms;

-- name: process_remove
DELETE FROM process
WHERE tenant = $1 AND service = $2 AND host = $3 AND ordinal = $4;

-- name: process_remove_host
DELETE FROM process WHERE host = $1;

-- name: process_list
SELECT p.host, p.tenant, p.service, p.boot_id, p.argv0, p.cmdline, p.ordinal,
       p.pid, p.start_time, p.seen_ms
FROM process p JOIN worker w ON w.host = p.host
WHERE p.tenant = $1 AND p.service = $2 AND w.alive_until_ms > now_ms()
ORDER BY p.ordinal, p.host;

-- name: process_list_host
SELECT host, tenant, service, boot_id, argv0, cmdline, ordinal, pid,
       start_time, seen_ms
FROM process WHERE host = $1 ORDER BY tenant, service, ordinal;

-- Rows of a host that belong to these tenants.
-- name: process_list_tenants
SELECT host, tenant, service, boot_id, argv0, cmdline, ordinal, pid,
       start_time, seen_ms
FROM process
WHERE host = $1
  AND replace(' ' || $2 || ' ', ' ' || tenant || ' ', '') <> ' ' || $2 || ' '
ORDER BY tenant, service, ordinal;

-- name: process_tree_put
INSERT INTO process_tree (host, tenant, service, followed, other_unit,
                          out_of_scope, too_many, refused)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (tenant, service, host) DO UPDATE SET
  followed = excluded.followed, other_unit = excluded.other_unit,
  out_of_scope = excluded.out_of_scope, too_many = excluded.too_many,
  refused = excluded.refused;

-- name: process_tree_remove_host
DELETE FROM process_tree WHERE host = $1;

-- name: process_tree_remove_tenants
DELETE FROM process_tree
WHERE host = $1
  AND replace(' ' || $2 || ' ', ' ' || tenant || ' ', '') <> ' ' || $2 || ' ';

-- name: process_tree_list
SELECT t.host, t.tenant, t.service, t.followed, t.other_unit, t.out_of_scope,
       t.too_many, t.refused
FROM process_tree t JOIN worker w ON w.host = t.host
WHERE t.tenant = $1 AND t.service = $2 AND w.alive_until_ms > now_ms()
ORDER BY t.host;

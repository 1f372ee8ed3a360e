-- Triggers and their firings. Columns are those of struct trigger and
-- struct firing, in their order.

-- name: trigger_insert
INSERT INTO trigger_rule (id, tenant, service, name, kind, function,
                          threshold, minimum, type, seconds, rate, webhook,
                          cooldown_ms, enabled, created_by, created_ms,
                          updated_ms, value, value_ms, fired_ms)
SELECT $1, tenant, name, $2, $3, $4, CAST($5 AS DOUBLE PRECISION),
       CAST($6 AS BIGINT), $7, CAST($8 AS BIGINT), CAST($9 AS BIGINT), $10,
       CAST($11 AS BIGINT), CAST($12 AS BIGINT), $13, now_ms(), now_ms(), 0,
       0, 0
FROM service WHERE tenant = $14 AND name = $15;

-- name: trigger_update
UPDATE trigger_rule
SET name = $1, kind = $2, function = $3,
    threshold = CAST($4 AS DOUBLE PRECISION), minimum = CAST($5 AS BIGINT),
    type = $6, seconds = CAST($7 AS BIGINT), rate = CAST($8 AS BIGINT),
    webhook = $9, cooldown_ms = CAST($10 AS BIGINT),
    enabled = CAST($11 AS BIGINT), created_by = $12, updated_ms = now_ms()
WHERE tenant = $13 AND service = $14 AND id = $15;

-- name: trigger_get
SELECT * FROM trigger_row WHERE tenant = $1 AND service = $2 AND id = $3;

-- name: trigger_list
SELECT * FROM trigger_row WHERE tenant = $1 AND service = $2 ORDER BY name;

-- A page of all services, after the trigger $3 of the service $2.
-- name: trigger_page
SELECT * FROM trigger_row
WHERE tenant = $1 AND (service > $2 OR (service = $2 AND name > $3))
ORDER BY service, name LIMIT CAST($4 AS BIGINT);

-- name: trigger_list_fired
SELECT * FROM trigger_row
WHERE tenant = $1 AND fired_ms > now_ms() - CAST($2 AS BIGINT)
ORDER BY service, name LIMIT 1000;

-- name: trigger_count
SELECT COUNT(*) FROM trigger_rule WHERE tenant = $1 AND service = $2;

-- name: trigger_delete
DELETE FROM trigger_rule WHERE tenant = $1 AND service = $2 AND id = $3;

-- name: trigger_list_host
SELECT r.* FROM trigger_row r
JOIN service s ON s.tenant = r.tenant AND s.name = r.service
WHERE r.enabled = 1 AND s.host IN ('', $1)
ORDER BY r.tenant, r.service, r.name LIMIT 10000;

-- name: trigger_report
UPDATE trigger_rule
SET value = CAST($1 AS DOUBLE PRECISION), value_ms = now_ms()
WHERE id = $2;

-- name: trigger_fire
UPDATE trigger_rule
SET value = CAST($1 AS DOUBLE PRECISION), value_ms = now_ms(),
    fired_ms = now_ms()
WHERE id = $2 AND enabled = 1
  AND (fired_ms = 0 OR fired_ms + cooldown_ms <= now_ms());

-- name: firing_insert
INSERT INTO trigger_firing (id, rule, host, session, url, value, threshold,
                            fired_ms, since_ms, earliest_ms, latest_ms,
                            state, tries, next_ms)
SELECT $1, id, $2, $3, webhook, value, threshold, fired_ms,
       CAST($4 AS BIGINT), CAST($5 AS BIGINT), CAST($6 AS BIGINT),
       CASE WHEN webhook = '' THEN 'none' ELSE 'waiting' END, 0, 0
FROM trigger_rule WHERE id = $7;

-- The restart is the start of the last process that started within the
-- interval of a shift, or up to $1 ms before or after it; a worker that starts
-- finds processes that already run.
-- name: firing_due
SELECT f.id, r.name AS trigger, r.tenant, r.service, r.kind, r.function,
       f.url, f.value,
       f.threshold, f.fired_ms, f.since_ms, f.earliest_ms, f.latest_ms,
       COALESCE((SELECT MAX(p.seen_ms) FROM process p
                 JOIN worker w ON w.host = p.host
                 WHERE p.tenant = r.tenant AND p.service = r.service
                   AND f.since_ms > 0
                   AND p.seen_ms > w.started_ms + 10000
                   AND p.seen_ms BETWEEN f.earliest_ms - CAST($1 AS BIGINT)
                   AND f.latest_ms + CAST($1 AS BIGINT)), 0) AS restart_ms,
       f.tries, f.session, COALESCE(s.status, 'deleted') AS status
FROM trigger_firing f JOIN trigger_rule r ON r.id = f.rule
  LEFT JOIN session s ON s.id = f.session
WHERE f.state = 'waiting' AND f.host = $2 AND f.next_ms <= now_ms()
  AND COALESCE(s.status, 'deleted') <> 'running'
ORDER BY ROW_NUMBER() OVER (PARTITION BY r.tenant ORDER BY f.fired_ms, f.id),
  f.fired_ms LIMIT CAST($3 AS BIGINT);

-- name: firing_waits
SELECT 1 FROM trigger_firing WHERE state = 'waiting' AND host = $1 LIMIT 1;

-- name: firing_tried
UPDATE trigger_firing
SET state = $1, tries = tries + 1, next_ms = now_ms() + CAST($2 AS BIGINT)
WHERE id = $3;

-- The last firing of each rule is kept, since the API shows it with the
-- rule.
-- name: firing_prune
DELETE FROM trigger_firing
WHERE state <> 'waiting' AND fired_ms < now_ms() - CAST($1 AS BIGINT)
  AND fired_ms < (SELECT r.fired_ms FROM trigger_rule r
                  WHERE r.id = trigger_firing.rule);

-- Counts of what a tenant holds: one statement for each row of quotas.def.

-- name: quota_services
SELECT COUNT(*) FROM service WHERE tenant = $1;

-- name: quota_series
SELECT COUNT(*) FROM series WHERE tenant = $1 AND host = '{WINDOW_PUSHED}';

-- Series of other hosts are in blocks; the worker of this store writes windows.
-- name: quota_host_series
SELECT COUNT(*) FROM series s
WHERE s.tenant = $1 AND s.host IN
  (SELECT c.host FROM block_cursor c WHERE c.tenant = $1);

-- name: quota_host_bytes
SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM block_usage
WHERE tenant = $1;

-- name: quota_tokens
SELECT COUNT(*) FROM token
WHERE default_tenant = $1 AND revoked_ms = 0
  AND (expires_ms = 0 OR expires_ms > now_ms());

-- name: quota_triggers
SELECT COUNT(*) FROM trigger_rule WHERE tenant = $1;

-- name: quota_profiles
SELECT COUNT(*) FROM session WHERE tenant = $1;

-- name: quota_bytes
SELECT CAST(COALESCE(SUM(b.length), 0) AS BIGINT)
FROM session s JOIN blob b ON b.session = s.id
WHERE s.tenant = $1 AND b.deleted_ms = 0;

-- name: quota_debug_files
SELECT COUNT(*) FROM debug_file WHERE tenant = $1;

-- name: quota_debug_bytes
SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM debug_file
WHERE tenant = $1;

-- name: quota_pins
SELECT (SELECT COUNT(*) FROM session WHERE tenant = $1 AND pinned = 1) +
       (SELECT COUNT(*) FROM profile_window w JOIN series s ON s.id = w.series
        WHERE s.tenant = $1 AND w.pinned = 1) +
       (SELECT COUNT(*) FROM block_pin p JOIN block b ON b.id = p.block
        WHERE b.tenant = $1);

-- name: quota_baselines
SELECT COUNT(*) FROM baseline WHERE tenant = $1;

-- name: quota_kept_replies
SELECT COUNT(*) FROM idempotency WHERE tenant = $1;

-- After a clock is set back, captures may be in the future; these do not
-- count.
-- name: quota_captures_per_hour
SELECT COUNT(*) FROM capture_start
WHERE tenant = $1 AND at_ms BETWEEN now_ms() - 3599999 AND now_ms();

-- The time, in ms from now, until the capture at a given offset is an hour
-- old.
-- name: quota_captures_wait
SELECT at_ms - now_ms() + 3600000 FROM capture_start
WHERE tenant = $1 AND at_ms BETWEEN now_ms() - 3599999 AND now_ms()
ORDER BY at_ms LIMIT 1 OFFSET CAST($2 AS BIGINT);

-- name: capture_start_insert
INSERT INTO capture_start (tenant, at_ms, session) VALUES ($1, now_ms(), $2);

-- name: capture_start_prune
DELETE FROM capture_start
WHERE at_ms NOT BETWEEN now_ms() - 3599999 AND now_ms();

-- name: quota_tenants
SELECT DISTINCT tenant FROM service ORDER BY tenant LIMIT 1000;

-- SQLite has one writer at a time.
-- name: quota_turn
SELECT 1 WHERE $1 = '';

-- name: quota_turn
-- dialect: postgres
INSERT INTO quota_turn (tenant, turns) VALUES ($1, 1)
ON CONFLICT (tenant) DO UPDATE SET turns = quota_turn.turns + 1;

-- Blocks that hosts send, and their runs.

-- name: block_insert
INSERT INTO block (id, tenant, host, tier, start_ms, end_ms, windows, entries,
                   entry_bytes)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- The transaction that moves the cursor owns the time; other transactions
-- change no row.
-- name: block_cursor_move
INSERT INTO block_cursor (tenant, host, tier, end_ms)
VALUES ($1, $2, CAST($3 AS BIGINT), CAST($4 AS BIGINT))
ON CONFLICT (tenant, host, tier) DO UPDATE SET end_ms = excluded.end_ms
  WHERE block_cursor.end_ms <= CAST($5 AS BIGINT);

-- name: block_cursor_get
SELECT end_ms FROM block_cursor WHERE tenant = $1 AND host = $2 AND tier = $3;

-- On a host: the time up to which the centre has received its blocks.
-- name: block_cursor_put
INSERT INTO block_cursor (tenant, host, tier, end_ms)
VALUES ($1, $2, CAST($3 AS BIGINT), CAST($4 AS BIGINT))
ON CONFLICT (tenant, host, tier) DO UPDATE SET end_ms = excluded.end_ms
  WHERE block_cursor.end_ms < excluded.end_ms;

-- Runs every few seconds: one lookup in the index per series and level. Hours
-- and days outlive their minutes.
-- name: block_first
SELECT COALESCE(MIN(first_ms), -1)
FROM (SELECT (SELECT MIN(w.start_ms) FROM profile_window w
              WHERE w.series = s.id AND w.level = l.level) AS first_ms
      FROM series s CROSS JOIN (SELECT 1 AS level UNION ALL SELECT 2
                                UNION ALL SELECT 3) AS l
      WHERE s.tenant = $1 AND s.host = $2) AS firsts;

-- Windows that are not rolled up yet.
-- name: block_open
SELECT 1 FROM profile_window w JOIN series s ON s.id = w.series
WHERE w.parent = '' AND w.level = $1 AND w.start_ms >= $2 AND w.start_ms < $3
  AND s.tenant = $4 AND s.host = $5 LIMIT 1;

-- Minutes that begin after the blocks that the centre has.
-- name: block_waiting
SELECT COUNT(*), CAST(COALESCE(SUM(w.length), 0) AS BIGINT),
       COALESCE(MIN(w.start_ms), 0)
FROM series s JOIN profile_window w ON w.series = s.id
WHERE w.level = 1 AND w.start_ms >= $1 AND s.tenant = $2 AND s.host = $3;

-- Fields of struct arrived, in order; fresh minutes count as minutes.
-- name: block_arrived
SELECT tenant, host, CASE WHEN tier < 1 THEN 1 ELSE tier END AS level,
       MAX(end_ms) AS end_ms
FROM block_cursor WHERE host <> '' AND ($1 = '' OR tenant = $1)
GROUP BY tenant, host, CASE WHEN tier < 1 THEN 1 ELSE tier END
ORDER BY host, tenant, level;

-- name: block_usage_add
INSERT INTO block_usage (tenant, day_ms, tier, blocks, windows, bytes)
VALUES ($1, CAST($2 AS BIGINT), CAST($3 AS BIGINT), 1, CAST($4 AS BIGINT),
        CAST($5 AS BIGINT))
ON CONFLICT (tenant, day_ms, tier) DO UPDATE SET
  blocks = block_usage.blocks + 1,
  windows = block_usage.windows + excluded.windows,
  bytes = block_usage.bytes + excluded.bytes;

-- name: block_usage_take
UPDATE block_usage
SET blocks = blocks - 1, windows = windows - CAST($1 AS BIGINT),
    bytes = bytes - CAST($2 AS BIGINT)
WHERE tenant = $3 AND day_ms = $4 AND tier = $5;

-- name: block_usage_prune
DELETE FROM block_usage WHERE blocks = 0;

-- Columns: the fields of struct old_block, in order.

-- name: block_within
SELECT k.id, k.tenant, k.tier, k.start_ms, k.windows, b.length
FROM block k JOIN blob b ON b.id = k.id
WHERE k.tenant = $1 AND k.host = $2 AND k.tier = $3
  AND k.start_ms >= $4 AND k.start_ms < $5;

-- Blocks whose time the next tier covers; block_aged does not require that.
-- name: block_expired
SELECT k.id, k.tenant, k.tier, k.start_ms, k.windows, b.length
FROM block k JOIN blob b ON b.id = k.id
WHERE k.tier = $1 AND k.end_ms <= now_ms() - CAST($2 AS BIGINT)
  AND NOT EXISTS (SELECT 1 FROM block_pin p WHERE p.block = k.id)
  AND EXISTS (SELECT 1 FROM block_cursor c
              WHERE c.tenant = k.tenant AND c.host = k.host
                AND c.tier = k.tier + 1 AND c.end_ms >= k.end_ms)
ORDER BY k.end_ms LIMIT 100;

-- name: block_aged
SELECT k.id, k.tenant, k.tier, k.start_ms, k.windows, b.length
FROM block k JOIN blob b ON b.id = k.id
WHERE k.tier = $1 AND k.end_ms <= now_ms() - CAST($2 AS BIGINT)
  AND NOT EXISTS (SELECT 1 FROM block_pin p WHERE p.block = k.id)
ORDER BY k.end_ms LIMIT 100;

-- name: block_delete
DELETE FROM block WHERE id = $1;

-- name: run_insert
INSERT INTO run (series, tier, start_ms, end_ms, block, first, n, duration_ms,
                 windows, sample_count, value, start, length, checksum, quota_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15);

-- name: run_delete
DELETE FROM run WHERE block = $1;

-- Other minutes and hours are deleted with their day's partition; without
-- their block they are not found.
-- name: run_delete
-- dialect: postgres
DELETE FROM run WHERE block = $1 AND tier IN (0, 3);

-- A service may keep its windows for a shorter time than other services.
-- name: run_expired
DELETE FROM run WHERE tier = $1 AND series IN (
  SELECT s.id FROM series s
    JOIN continuous c ON c.tenant = s.tenant AND c.service = s.service
  WHERE c.retention_days > 0
    AND run.end_ms <= now_ms() - c.retention_days * 86400000);

-- name: run_any
SELECT 1 FROM block LIMIT 1;

-- Columns of struct block_run but the last, in its order.
-- text: RUN_COLUMNS
r.series, r.block, r.checksum, b.store, b.name, r.tier, r.start_ms, r.end_ms,
r.duration_ms, r.windows, r.sample_count, r.value, r.first, r.n, r.start,
r.length, r.quota_ms, b.length AS whole, k.entries, k.entry_bytes

-- name: run_between
SELECT {RUN_COLUMNS},
       (SELECT COUNT(*) FROM block_pin p WHERE p.block = r.block) AS pins
FROM run r JOIN block k ON k.id = r.block JOIN blob b ON b.id = r.block
WHERE r.series = $1 AND r.tier = $2 AND r.start_ms > CAST($3 AS BIGINT)
  AND r.start_ms <= CAST($4 AS BIGINT)
ORDER BY r.start_ms LIMIT 20001;

-- name: run_before
SELECT {RUN_COLUMNS},
       (SELECT COUNT(*) FROM block_pin p WHERE p.block = r.block) AS pins
FROM run r JOIN block k ON k.id = r.block JOIN blob b ON b.id = r.block
WHERE r.series = $1 AND r.tier = $2 AND r.start_ms > CAST($3 AS BIGINT)
  AND r.start_ms <= CAST($4 AS BIGINT)
ORDER BY r.start_ms DESC LIMIT 20001;

-- The run that contains the nth window of a block.
-- name: run_of_window
SELECT {RUN_COLUMNS},
       (SELECT COUNT(*) FROM block_pin p WHERE p.block = r.block) AS pins
FROM block k JOIN blob b ON b.id = k.id
  JOIN run r ON r.block = k.id AND r.tier = k.tier
  AND r.start_ms >= k.start_ms AND r.start_ms < k.end_ms
WHERE k.id = $1 AND k.tenant = $2
  AND r.first <= CAST($3 AS BIGINT) AND r.first + r.n > CAST($3 AS BIGINT);

-- name: block_find
SELECT id FROM block
WHERE id BETWEEN $1 AND $1 || '{' AND tenant = $2
ORDER BY id LIMIT CAST($3 AS BIGINT);

-- name: block_find
-- dialect: postgres
SELECT id FROM block
WHERE starts_with(id, $1) AND tenant = $2
ORDER BY id LIMIT CAST($3 AS BIGINT);

-- name: series_get
SELECT id, tenant, service, type, host, labels, created_ms FROM series
WHERE id = $1;

-- name: block_pins
SELECT nth FROM block_pin WHERE block = $1 ORDER BY nth;

-- name: block_pin_put
INSERT INTO block_pin (block, nth)
SELECT id, CAST($1 AS BIGINT) FROM block
WHERE id = $2 AND tenant = $3 AND windows > CAST($1 AS BIGINT)
ON CONFLICT DO NOTHING;

-- name: block_pin_drop
DELETE FROM block_pin WHERE block = $1 AND nth = $2;

-- Makes the partitions of minutes and hours for today and the next two days.
-- name: run_days_make
SELECT CAST(0 AS BIGINT);

-- name: run_days_make
-- dialect: postgres
SELECT CAST(SUM(run_day_make(t.tier, now_ms() / 86400000 + d.day)) AS BIGINT)
FROM (VALUES (1), (2)) AS t (tier), (VALUES (0), (1), (2)) AS d (day);

-- name: run_days_drop
SELECT CAST(0 AS BIGINT);

-- name: run_days_drop
-- dialect: postgres
SELECT run_days_drop();

-- Sums over hosts. Columns are those of struct sum_due, sum_run and
-- host_cursor, in their order.

-- name: host_sum_changed
INSERT INTO host_sum (tenant, service, hour_ms, changes, summed, hosts)
SELECT tenant, name, CAST($1 AS BIGINT), 1, 0, 0
FROM service WHERE tenant = $2 AND name = $3
ON CONFLICT (tenant, service, hour_ms) DO UPDATE SET
  changes = host_sum.changes + 1;

-- name: host_sum_due
SELECT tenant, service, hour_ms, changes FROM host_sum
WHERE summed < changes AND hour_ms < $1
ORDER BY hour_ms, tenant, service LIMIT CAST($2 AS BIGINT);

-- Locks the row, so that blocks of its hour wait.
-- name: host_sum_made
UPDATE host_sum SET summed = changes, hosts = CAST($1 AS BIGINT)
WHERE tenant = $2 AND service = $3 AND hour_ms = $4
  AND changes = CAST($5 AS BIGINT);

-- name: host_sum_valid
SELECT hour_ms, hosts FROM host_sum
WHERE tenant = $1 AND service = $2 AND hour_ms >= $3 AND hour_ms < $4
  AND summed = changes AND hosts > 0
ORDER BY hour_ms;

-- name: host_sum_prune
DELETE FROM host_sum WHERE hour_ms < now_ms() - CAST($1 AS BIGINT);

-- name: host_sum_groups
SELECT DISTINCT type, labels FROM series
WHERE tenant = $1 AND service = $2 AND host NOT IN ('{HOST_SUM}', '{WINDOW_PUSHED}')
ORDER BY type, labels;

-- name: run_of_hosts
SELECT {RUN_COLUMNS}, 0 AS pins
FROM series s JOIN run r ON r.series = s.id
  JOIN block k ON k.id = r.block JOIN blob b ON b.id = r.block
WHERE s.tenant = $1 AND s.service = $2 AND s.type = $3 AND s.labels = $4
  AND s.host <> '{HOST_SUM}' AND r.tier = 2 AND r.start_ms > CAST($5 AS BIGINT)
  AND r.start_ms <= CAST($6 AS BIGINT)
ORDER BY r.start_ms, s.host;

-- name: host_cursors
SELECT host, end_ms FROM block_cursor WHERE tenant = $1 AND tier = 2;

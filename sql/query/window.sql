-- Continuous profiling, its windows and their segments. Columns are those
-- of struct continuous, series and window, in their order.

-- name: continuous_put
INSERT INTO continuous (tenant, service, types, sample_rate, retention_days,
                        enabled, created_by, created_ms, updated_ms)
SELECT tenant, name, $1, CAST($2 AS BIGINT), CAST($3 AS BIGINT),
       CAST($4 AS BIGINT), $5, now_ms(), now_ms()
FROM service WHERE tenant = $6 AND name = $7
ON CONFLICT (tenant, service) DO UPDATE SET
  types = excluded.types, sample_rate = excluded.sample_rate,
  retention_days = excluded.retention_days, enabled = excluded.enabled,
  created_by = excluded.created_by, updated_ms = excluded.updated_ms;

-- name: continuous_get
SELECT tenant, service, types, created_by, sample_rate, retention_days,
       enabled, created_ms, updated_ms
FROM continuous WHERE tenant = $1 AND service = $2;

-- name: continuous_list
SELECT tenant, service, types, created_by, sample_rate, retention_days,
       enabled, created_ms, updated_ms
FROM continuous WHERE $1 = '' OR tenant = $1 ORDER BY tenant, service;

-- name: continuous_delete
DELETE FROM continuous WHERE tenant = $1 AND service = $2;

-- name: problem_put
INSERT INTO continuous_problem (tenant, service, type, host, code, message,
                                since_ms)
SELECT tenant, name, $1, $2, $3, $4, now_ms()
FROM service WHERE tenant = $5 AND name = $6
ON CONFLICT (tenant, service, type, host) DO UPDATE SET
  code = excluded.code, message = excluded.message,
  since_ms = excluded.since_ms;

-- name: problem_clear
DELETE FROM continuous_problem
WHERE tenant = $1 AND service = $2 AND type = $3 AND host = $4;

-- name: problem_clear_host
DELETE FROM continuous_problem WHERE host = $1;

-- Columns are those of struct continuous_problem, in their order.
-- name: problem_list
SELECT tenant, service, type, host, code, message, since_ms
FROM continuous_problem
WHERE tenant = $1 AND ($2 = '' OR service = $2)
ORDER BY service, type, host LIMIT 10000;

-- name: series_find
SELECT id FROM series
WHERE tenant = $1 AND service = $2 AND type = $3 AND host = $4
  AND labels = $5;

-- name: series_insert
INSERT INTO series (id, tenant, service, type, host, labels, created_ms)
SELECT $1, tenant, name, $2, $3, $4, now_ms()
FROM service WHERE tenant = $5 AND name = $6
ON CONFLICT DO NOTHING;

-- name: series_count
SELECT COUNT(*) FROM series
WHERE tenant = $1 AND service = $2 AND host = $3;

-- Sums over hosts are listed only by their host.
-- name: series_list
SELECT id, tenant, service, type, host, labels, created_ms FROM series
WHERE tenant = $1 AND ($2 = '' OR service = $2) AND ($3 = '' OR type = $3)
  AND (host = $4 OR ($4 = '' AND host <> '{HOST_SUM}'))
ORDER BY created_ms, id LIMIT CAST($5 AS BIGINT);

-- Series, and finished sessions as series without an id. Columns are those of
-- struct series.
-- name: series_list_taken
SELECT id, tenant, service, type, host, labels, created_ms FROM series
WHERE tenant = $1 AND ($2 = '' OR type = $2) AND host <> '{HOST_SUM}'
UNION
SELECT '', tenant, service, type, host, labels, 0 FROM session
WHERE tenant = $1 AND ($2 = '' OR type = $2) AND status = 'completed'
ORDER BY 3, 4, 5, 6, 1 LIMIT CAST($3 AS BIGINT);

-- name: series_of_window
SELECT s.id, s.tenant, s.service, s.type, s.host, s.labels, s.created_ms
FROM series s JOIN profile_window w ON w.series = s.id
WHERE w.id = $1 AND s.tenant = $2;

-- name: segment_put
INSERT INTO segment (id, host, store, name, length, created_ms)
VALUES ($1, $2, $3, $4, $5, now_ms())
ON CONFLICT (id) DO UPDATE SET length = excluded.length;

-- name: segment_known
SELECT 1 FROM segment WHERE id = $1;

-- name: segment_used
SELECT 1 FROM profile_window WHERE segment = $1 LIMIT 1;

-- name: segment_after
SELECT segment AS id FROM profile_window WHERE segment > $1
ORDER BY segment LIMIT 1;

-- Columns: the fields of struct extent, in order.
-- name: window_of_segment
SELECT id, segment AS owner, segment || '.seg' AS name, checksum, start,
       length
FROM profile_window WHERE segment = $1 ORDER BY start;

-- name: window_live
SELECT 1 FROM profile_window WHERE id = $1;

-- name: segment_unused
SELECT id FROM segment g
WHERE g.host = $1
  AND NOT EXISTS (SELECT 1 FROM profile_window w WHERE w.segment = g.id)
LIMIT 100;

-- name: segment_adopt
UPDATE segment SET host = $1 WHERE host <> $1;

-- name: segment_forget
DELETE FROM segment WHERE id = $1;

-- name: segment_forget_holes
DELETE FROM segment_hole WHERE segment = $1;

-- name: hole_next
SELECT h.segment, h.start, h.length
FROM segment_hole h JOIN segment g ON g.id = h.segment
WHERE g.host = $1 LIMIT 100;

-- name: hole_forget
DELETE FROM segment_hole WHERE segment = $1 AND start = $2;

-- Windows without a sample have no bytes; several may begin at the same
-- offset. Segments in the database have no holes: they are deleted with their
-- last window.
-- name: hole_of_window
INSERT INTO segment_hole (segment, start, length)
SELECT segment, start, length FROM profile_window
WHERE id = $1 AND length > 0 AND segment NOT LIKE '{BYTES_SEGMENT_PREFIX}%';

-- name: hole_of_service
INSERT INTO segment_hole (segment, start, length)
SELECT w.segment, w.start, w.length
FROM profile_window w JOIN series s ON s.id = w.series
WHERE s.tenant = $1 AND s.service = $2 AND w.length > 0
  AND w.segment NOT LIKE '{BYTES_SEGMENT_PREFIX}%';

-- name: window_insert
INSERT INTO profile_window (id, series, parent, segment, checksum, level,
                            start_ms, end_ms, duration_ms, windows,
                            sample_count, value, start, length, pinned,
                            quota_ms)
SELECT $1, id, '', $2, $3, CAST($4 AS BIGINT), CAST($5 AS BIGINT),
       CAST($6 AS BIGINT), CAST($7 AS BIGINT), CAST($8 AS BIGINT),
       CAST($9 AS BIGINT), CAST($10 AS BIGINT), CAST($11 AS BIGINT),
       CAST($12 AS BIGINT), 0, CAST($13 AS BIGINT)
FROM series WHERE id = $14;

-- name: window_adopt
UPDATE profile_window SET parent = $1 WHERE id = $2 AND parent = '';

-- name: window_replace
UPDATE profile_window
SET segment = $1, checksum = $2, start = CAST($3 AS BIGINT),
    length = CAST($4 AS BIGINT)
WHERE id = $5;

-- name: window_get
SELECT w.* FROM profile_window w JOIN series s ON s.id = w.series
WHERE w.id = $1 AND s.tenant = $2;

-- Ids match by prefix. SQLite keeps the order of a CROSS JOIN, and so uses
-- the index of ids first.
-- name: window_find
SELECT w.* FROM profile_window w CROSS JOIN series s ON s.id = w.series
WHERE w.id BETWEEN $1 AND $1 || '{' AND s.tenant = $2
ORDER BY w.id LIMIT CAST($3 AS BIGINT);

-- name: window_find
-- dialect: postgres
SELECT w.* FROM profile_window w JOIN series s ON s.id = w.series
WHERE starts_with(w.id, $1) AND s.tenant = $2
ORDER BY w.id LIMIT CAST($3 AS BIGINT);

-- name: window_between
SELECT * FROM profile_window
WHERE series = $1 AND level = $2 AND start_ms >= $3 AND start_ms < $4
ORDER BY start_ms LIMIT CAST($5 AS BIGINT);

-- Only windows without a rollup are listed. They are few; the + keeps SQLite
-- from using an index of all windows of the level.
-- name: window_open_between
SELECT * FROM profile_window
WHERE series = $1 AND +level = $2 AND start_ms >= $3 AND start_ms < $4
  AND parent = ''
ORDER BY start_ms LIMIT CAST($5 AS BIGINT);

-- A host rolls up and deletes only windows whose bytes it has.
-- name: window_ripe
SELECT w.series, MIN(w.start_ms) AS start_ms
FROM profile_window w JOIN segment g ON g.id = w.segment
WHERE w.level = $1 AND w.start_ms < $2 AND w.parent = '' AND g.host = $3
GROUP BY w.series ORDER BY 2, 1 LIMIT CAST($4 AS BIGINT);

-- The next hour with minutes that are not counts of its stacks, since they lie
-- elsewhere.
-- name: window_whole
SELECT * FROM profile_window h
WHERE level = 2 AND (end_ms, id) > (CAST($1 AS BIGINT), $2) AND length > 0
  AND EXISTS (SELECT 1 FROM profile_window c
              WHERE c.parent = h.id AND c.parent <> ''
                AND c.segment <> h.segment AND c.length > 0)
  AND EXISTS (SELECT 1 FROM segment g
              WHERE g.id = h.segment AND g.host = $3)
ORDER BY end_ms, id LIMIT 1;

-- Minutes and hours stay while a pinned window is stored as counts of their
-- stacks.
-- name: window_faded
SELECT id FROM profile_window
WHERE level = $1 AND end_ms <= now_ms() - CAST($2 AS BIGINT)
  AND parent <> '' AND pinned = 0
  AND (level NOT IN (1, 2) OR NOT EXISTS (
    SELECT 1 FROM profile_window c
    WHERE c.parent = profile_window.id AND c.parent <> ''))
  AND EXISTS (SELECT 1 FROM segment g
              WHERE g.id = profile_window.segment AND g.host = $3)
LIMIT 200;

-- name: window_expired
SELECT w.id
FROM profile_window w JOIN series s ON s.id = w.series
  LEFT JOIN continuous c ON c.tenant = s.tenant AND c.service = s.service
WHERE w.pinned = 0 AND w.end_ms <= now_ms() -
  COALESCE(c.retention_days * 86400000, CAST($1 AS BIGINT))
  AND (w.level NOT IN (1, 2) OR NOT EXISTS (
    SELECT 1 FROM profile_window c
    WHERE c.parent = w.id AND c.parent <> ''))
  AND EXISTS (SELECT 1 FROM segment g
              WHERE g.id = w.segment AND g.host = $2)
LIMIT 200;

-- Columns: the fields of struct holding, in order.
-- name: window_holdings
SELECT s.tenant, CAST(SUM(w.length) AS BIGINT) AS bytes
FROM profile_window w JOIN series s ON s.id = w.series
GROUP BY s.tenant ORDER BY bytes DESC, s.tenant;

-- Lists the oldest windows of a tenant that together have this many bytes.
-- SQLite reads windows by age, since the series is an expression. Sums over
-- hosts stay, since readers rely on them.
-- name: window_oldest
SELECT id, bytes FROM (
  SELECT id, length AS bytes,
         SUM(length) OVER (ORDER BY end_ms, level, id) - length AS older
  FROM (SELECT id, length, end_ms, level FROM profile_window
        WHERE pinned = 0
          AND (level NOT IN (1, 2) OR NOT EXISTS (
            SELECT 1 FROM profile_window c
            WHERE c.parent = profile_window.id AND c.parent <> ''))
          AND series || '' IN (SELECT id FROM series
                               WHERE tenant = $1 AND host <> '{HOST_SUM}')
        ORDER BY end_ms, level, id LIMIT 200) AS oldest
) AS counted
WHERE older < CAST($2 AS BIGINT) ORDER BY older;

-- name: window_at
SELECT id FROM profile_window WHERE series = $1 AND level = $2 AND start_ms = $3;

-- name: window_disown
UPDATE profile_window SET parent = ''
WHERE series = $1 AND level = $2 AND start_ms >= $3 AND start_ms < $4;

-- name: window_delete
DELETE FROM profile_window WHERE id = $1;

-- name: window_pin
UPDATE profile_window SET pinned = $1
WHERE id = $2 AND series IN (SELECT id FROM series WHERE tenant = $3);

-- name: window_usage
SELECT CAST(COALESCE(SUM(length), 0) AS BIGINT), COUNT(*)
FROM profile_window;

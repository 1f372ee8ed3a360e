-- Names of frames that were pushed without one: store/names.h.

-- name: names_module
SELECT id, frames, named FROM unnamed_module
WHERE tenant = $1 AND build_id = $2 AND start = $3 AND mapped_limit = $4
  AND file_offset = $5;

-- name: names_held
SELECT COUNT(*) AS modules, CAST(COALESCE(SUM(frames), 0) AS BIGINT) AS frames
FROM unnamed_module WHERE tenant = $1;

-- name: names_module_add
INSERT INTO unnamed_module (id, tenant, service, host, build_id, file, start,
                            mapped_limit, file_offset, state, tries, frames,
                            named, asked_ms, named_ms, seen_ms)
VALUES ($1, $2, $3, $4, $5, $6, CAST($7 AS BIGINT), CAST($8 AS BIGINT),
        CAST($9 AS BIGINT), 'queued', 0, 0, 0, now_ms(), 0, now_ms())
ON CONFLICT DO NOTHING;

-- name: names_frame_add
INSERT INTO unnamed_frame (module, address, lines) VALUES ($1, $2, '')
ON CONFLICT DO NOTHING;

-- A module with new frames is queued again, even while it is being named.
-- name: names_module_seen
UPDATE unnamed_module
SET frames = frames + CAST($1 AS BIGINT), seen_ms = now_ms(),
    tries = CASE WHEN CAST($1 AS BIGINT) > 0 THEN 0 ELSE tries END,
    asked_ms = CASE WHEN CAST($1 AS BIGINT) > 0 AND state = 'done'
               THEN now_ms() ELSE asked_ms END,
    state = CASE WHEN CAST($1 AS BIGINT) > 0 THEN 'queued' ELSE state END
WHERE id = $2;

-- name: names_version
SELECT CAST(COALESCE(MAX(named_ms), 0) AS BIGINT) FROM unnamed_module
WHERE tenant = $1;

-- name: names_lines
SELECT address, lines FROM unnamed_frame
WHERE module = $1 AND lines <> '' ORDER BY address;

-- name: names_asked
SELECT address FROM unnamed_frame WHERE module = $1 ORDER BY address;

-- Fields of struct names_module, in order. Tenants take turns, starting
-- after $3, so that one with many modules does not keep the others waiting.
-- name: names_waiting
SELECT id, tenant, service, build_id, file, start, mapped_limit AS "limit",
       file_offset AS "offset"
FROM unnamed_module
WHERE host = $1 AND state = 'queued' AND tries < CAST($2 AS BIGINT)
ORDER BY CASE WHEN tenant > $3 THEN 0 ELSE 1 END, tenant, asked_ms, id
LIMIT 1;

-- name: names_claim
UPDATE unnamed_module SET state = 'running', tries = tries + 1
WHERE id = $1 AND state = 'queued';

-- name: names_unnamed
SELECT address FROM unnamed_frame WHERE module = $1 AND lines = ''
ORDER BY address;

-- name: names_frame_named
UPDATE unnamed_frame SET lines = $1 WHERE module = $2 AND address = $3;

-- A module that was queued meanwhile stays queued.
-- name: names_finish
UPDATE unnamed_module
SET state = CASE WHEN state = 'running' THEN 'done' ELSE state END, tries = 0,
    named = named + CAST($1 AS BIGINT),
    named_ms = CASE WHEN CAST($1 AS BIGINT) > 0 THEN now_ms() ELSE named_ms END
WHERE id = $2;

-- name: names_take_over
UPDATE unnamed_module SET state = 'queued' WHERE host = $1 AND state = 'running';

-- name: names_again
UPDATE unnamed_module SET state = 'queued', tries = 0, asked_ms = now_ms()
WHERE host = $1 AND state = 'done' AND named < frames;

-- name: names_prune
DELETE FROM unnamed_module WHERE seen_ms <= now_ms() - CAST($1 AS BIGINT);

-- Windows of a range, for lists and trends. Columns are those of struct
-- window, in its order.

-- name: window_newest
SELECT * FROM profile_window
WHERE series = $1 AND level = $2
  AND (start_ms, id) < (CAST($3 AS BIGINT), $4)
  AND start_ms >= CAST($5 AS BIGINT)
ORDER BY start_ms DESC, id DESC LIMIT CAST($6 AS BIGINT);

-- Only the coarsest window of each time is listed: the window of an hour that
-- began before the range may be the only one of its time.
-- name: window_newest_top
SELECT * FROM profile_window
WHERE series = $1 AND parent = ''
  AND (start_ms, id) < (CAST($2 AS BIGINT), $3)
  AND end_ms > CAST($4 AS BIGINT)
ORDER BY start_ms DESC, id DESC LIMIT CAST($5 AS BIGINT);

-- Only the coarsest windows that reach into a range are listed.
-- name: window_tops
SELECT * FROM profile_window
WHERE series = $1 AND parent = '' AND end_ms > CAST($2 AS BIGINT)
  AND start_ms < CAST($3 AS BIGINT)
ORDER BY start_ms LIMIT CAST($4 AS BIGINT);

-- name: window_of_parent
SELECT * FROM profile_window WHERE parent = $1 AND parent <> ''
ORDER BY start_ms LIMIT CAST($2 AS BIGINT);

-- name: session_pin
UPDATE session SET pinned = $1 WHERE id = $2 AND tenant = $3;

-- Leases. A row is renewed by its holder, or taken by any process after the
-- lease has ended.

-- name: lease_take
INSERT INTO lease (name, holder, host, until_ms)
VALUES ($1, $2, $3, now_ms() + CAST($4 AS BIGINT))
ON CONFLICT (name) DO UPDATE SET
  holder = excluded.holder, host = excluded.host, until_ms = excluded.until_ms
  WHERE lease.holder = excluded.holder OR lease.until_ms <= now_ms();

-- name: lease_drop
DELETE FROM lease WHERE name = $1 AND holder = $2;

-- name: lease_get
SELECT host, until_ms - now_ms() FROM lease WHERE name = $1;

-- Before the first check, the time of the newest session stands for the last
-- check.
-- name: retention_clock_get
SELECT now_ms(),
       COALESCE((SELECT seen_ms FROM retention_clock),
                (SELECT MAX(created_ms) FROM session), now_ms()),
       COALESCE((SELECT held_ms FROM retention_clock), 0);

-- name: retention_clock_put
INSERT INTO retention_clock (id, seen_ms, held_ms)
VALUES (1, $1, $2)
ON CONFLICT (id) DO UPDATE SET
  seen_ms = excluded.seen_ms, held_ms = excluded.held_ms;

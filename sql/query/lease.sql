-- Leases. A row is renewed by its holder, or taken by any process once the
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

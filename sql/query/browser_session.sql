-- Columns: the fields of struct browser_session, in order.

-- name: browser_session_insert
INSERT INTO browser_session (id, hash, token, actor, role, tenants,
                             default_tenant, created_ms, used_ms, expires_ms,
                             link_until_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, now_ms(), now_ms(), $8, $9);

-- name: browser_session_by_hash
SELECT b.id, b.actor, b.role, b.tenants, b.default_tenant,
       b.created_ms, b.used_ms, b.expires_ms
FROM browser_session b
WHERE b.hash = $1 AND b.link_until_ms = 0 AND b.expires_ms > now_ms()
  AND b.used_ms > now_ms() - CAST($2 AS BIGINT)
  AND (b.token = '' OR EXISTS (SELECT 1 FROM token t WHERE t.id = b.token
                               AND t.revoked_ms = 0));

-- name: browser_session_by_link
SELECT b.id, b.actor, b.role, b.tenants, b.default_tenant,
       b.created_ms, b.used_ms, b.expires_ms
FROM browser_session b
WHERE b.hash = $1 AND b.link_until_ms > now_ms() AND b.expires_ms > now_ms()
  AND (b.token = '' OR EXISTS (SELECT 1 FROM token t WHERE t.id = b.token
                               AND t.revoked_ms = 0));

-- name: browser_session_follow
UPDATE browser_session SET hash = $1, link_until_ms = 0, used_ms = now_ms()
WHERE hash = $2 AND link_until_ms > now_ms();

-- name: browser_session_touch
UPDATE browser_session SET used_ms = now_ms() WHERE id = $1;

-- name: browser_session_switch
UPDATE browser_session SET default_tenant = $1
WHERE id = $2 AND default_tenant = $3;

-- name: browser_session_list
SELECT b.id, b.actor, b.role, b.tenants, b.default_tenant,
       b.created_ms, b.used_ms, b.expires_ms
FROM browser_session b
WHERE b.default_tenant = $1 AND b.link_until_ms = 0
  AND b.expires_ms > now_ms()
  AND b.used_ms > now_ms() - CAST($2 AS BIGINT)
  AND (b.token = '' OR EXISTS (SELECT 1 FROM token t WHERE t.id = b.token
                               AND t.revoked_ms = 0))
  AND (b.created_ms, b.id) < (CAST($3 AS BIGINT), $4)
ORDER BY b.created_ms DESC, b.id DESC LIMIT CAST($5 AS BIGINT);

-- name: browser_session_end
DELETE FROM browser_session WHERE id = $1 AND default_tenant = $2;

-- name: browser_session_sweep
DELETE FROM browser_session
WHERE expires_ms <= now_ms()
   OR (link_until_ms = 0 AND used_ms <= now_ms() - CAST($1 AS BIGINT))
   OR (link_until_ms > 0 AND link_until_ms <= now_ms());

-- Browsers that have signed in, or links that have not been followed: each has
-- a limit.
-- name: browser_session_crowd
DELETE FROM browser_session
WHERE actor = $1 AND (link_until_ms = 0) = (CAST($2 AS BIGINT) = 0)
  AND id NOT IN (
  SELECT id FROM browser_session
  WHERE actor = $1 AND (link_until_ms = 0) = (CAST($2 AS BIGINT) = 0)
  ORDER BY created_ms DESC, id DESC LIMIT CAST($3 AS BIGINT));

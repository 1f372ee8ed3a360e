-- Columns: the fields of struct token, in order.

-- name: token_insert
INSERT INTO token (id, name, hash, role, tenants, default_tenant,
                   created_ms, expires_ms, revoked_ms, last_used_ms, host)
VALUES ($1, $2, $3, $4, $5, $6, now_ms(), $7, 0, 0, $8);

-- name: token_by_hash
SELECT id, name, role, tenants, default_tenant, host,
       created_ms, expires_ms, revoked_ms, last_used_ms
FROM token WHERE hash = $1;

-- name: token_by_id
SELECT id, name, role, tenants, default_tenant, host,
       created_ms, expires_ms, revoked_ms, last_used_ms
FROM token WHERE id = $1;

-- name: token_touch
UPDATE token SET last_used_ms = now_ms() WHERE id = $1;

-- name: token_list
SELECT id, name, role, tenants, default_tenant, host,
       created_ms, expires_ms, revoked_ms, last_used_ms
FROM token
WHERE (created_ms, id) < (CAST($1 AS BIGINT), $2)
ORDER BY created_ms DESC, id DESC LIMIT CAST($3 AS BIGINT);

-- name: token_revoke
UPDATE token SET revoked_ms = now_ms() WHERE id = $1 AND revoked_ms = 0;

-- name: token_prune
DELETE FROM token
WHERE (revoked_ms > 0 AND revoked_ms < now_ms() - CAST($1 AS BIGINT))
   OR (expires_ms > 0 AND expires_ms < now_ms() - CAST($1 AS BIGINT));

-- The valid keys of a host's worker.
-- name: token_of_host
SELECT id, name, role, tenants, default_tenant, host,
       created_ms, expires_ms, revoked_ms, last_used_ms
FROM token WHERE host = $1 AND role = 'worker' AND revoked_ms = 0;

-- Idempotency, audit, signing keys.

-- name: idempotency_get
SELECT fingerprint, location, body, status FROM idempotency
WHERE tenant = $1 AND actor = $2 AND key = $3
  AND created_ms > now_ms() - CAST($4 AS BIGINT);

-- The first transaction to insert a key gets it; others wait for its end, and
-- then change no row. An expired key is taken over.
-- name: idempotency_claim
INSERT INTO idempotency (tenant, actor, key, fingerprint, status, location,
                         body, created_ms)
VALUES ($1, $2, $3, $4, 0, '', '', now_ms())
ON CONFLICT (tenant, actor, key) DO UPDATE SET
  fingerprint = excluded.fingerprint, status = 0, location = '', body = '',
  created_ms = excluded.created_ms
  WHERE idempotency.created_ms <= now_ms() - CAST($5 AS BIGINT);

-- name: idempotency_keep
UPDATE idempotency SET status = $1, location = $2, body = $3
WHERE tenant = $4 AND actor = $5 AND key = $6;

-- name: idempotency_prune
DELETE FROM idempotency WHERE created_ms <= now_ms() - CAST($1 AS BIGINT);

-- name: audit_insert
INSERT INTO audit (id, at_ms, tenant, actor, action, target, request_id,
                   detail)
VALUES ($1, now_ms(), $2, $3, $4, $5, $6, $7);

-- name: audit_list
SELECT id, tenant, actor, action, target, request_id, detail, at_ms
FROM audit
WHERE tenant = $1 AND (at_ms, id) < (CAST($2 AS BIGINT), $3)
  AND ($4 = '' OR LOWER(actor || ' ' || action || ' ' || target || ' ' ||
                        request_id || ' ' || detail)
                  LIKE '%' || LOWER($4) || '%')
ORDER BY at_ms DESC, id DESC LIMIT CAST($5 AS BIGINT);

-- name: audit_recent
SELECT COUNT(*) FROM audit
WHERE tenant = $1 AND at_ms > now_ms() - CAST($2 AS BIGINT) AND actor = $3
  AND ($4 = '' OR action = $4);

-- name: audit_prune
DELETE FROM audit WHERE at_ms < now_ms() - CAST($1 AS BIGINT);

-- name: link_key_newest
SELECT id, secret FROM link_key ORDER BY created_ms DESC, id LIMIT 1;

-- name: link_key_get
SELECT id, secret FROM link_key
WHERE SUBSTR(id, 1, LENGTH(CAST($1 AS TEXT))) = $1
ORDER BY created_ms DESC, id LIMIT 1;

-- name: link_key_insert
INSERT INTO link_key (id, secret, created_ms) VALUES ($1, $2, now_ms());

-- Services that a worker made by itself.

-- name: discovered_insert
INSERT INTO discovered (tenant, match_kind, match_value, service, found_ms)
VALUES ($1, $2, $3, $4, now_ms())
ON CONFLICT DO NOTHING;

-- name: discovered_known
SELECT 1 FROM service
WHERE tenant = $1 AND (name = $2 OR (match_kind = $3 AND match_value = $4))
LIMIT 1;

-- name: discovered_count
SELECT COUNT(*)
FROM discovered d JOIN service s ON s.tenant = d.tenant AND s.name = d.service
WHERE d.tenant = $1;

-- A service that was removed is forgotten after 90 days.
-- name: discovered_forget
DELETE FROM discovered
WHERE found_ms < now_ms() - 7776000000
  AND NOT EXISTS (SELECT 1 FROM service s WHERE s.tenant = discovered.tenant
                  AND s.name = discovered.service);

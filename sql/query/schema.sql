-- name: schema_version
SELECT COALESCE(MAX(version), 0), COALESCE(MAX(compatible), 0)
FROM migration;

-- name: schema_applied
INSERT INTO migration (version, compatible, name, applied_ms)
VALUES ($1, $2, $3, now_ms());

-- name: now
SELECT now_ms();

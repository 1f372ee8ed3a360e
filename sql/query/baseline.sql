-- The newest baseline must be unambiguous even if the clock stands still, or
-- if two are made in one millisecond.
-- name: baseline_insert
INSERT INTO baseline (id, tenant, service, type, session, label, description,
                      top_functions, tags, created_by, created_ms)
SELECT $1, s.tenant, s.service, s.type, s.id, $2, $3, $4, $5, $6,
       (SELECT CASE WHEN MAX(b.created_ms) >= now_ms()
                    THEN MAX(b.created_ms) + 1 ELSE now_ms() END
        FROM baseline b
        WHERE b.tenant = s.tenant AND b.service = s.service
          AND b.type = s.type)
FROM session s WHERE s.tenant = $7 AND s.id = $8 AND s.status = 'completed';

-- name: baseline_get
SELECT * FROM baseline_row WHERE tenant = $1 AND id = $2;

-- $5 is the tag, enclosed in line feeds.
-- name: baseline_list
SELECT * FROM baseline_row
WHERE tenant = $1 AND ($2 = '' OR service = $2) AND ($3 = '' OR type = $3)
  AND ($4 = '' OR label = $4) AND ($5 = '' OR replace(tags, $5, '') <> tags)
  AND (created_ms, id) < (CAST($6 AS BIGINT), $7)
ORDER BY created_ms DESC, id DESC LIMIT CAST($8 AS BIGINT);

-- Only sessions of the same process, or of all processes, can be compared.
-- name: baseline_before
SELECT b.* FROM baseline_row b JOIN session s ON s.id = b.session
WHERE b.tenant = $1 AND b.service = $2 AND b.type = $3
  AND b.created_ms <= CAST($4 AS BIGINT) AND s.ordinal = CAST($5 AS BIGINT)
  AND b.session <> $6
ORDER BY b.created_ms DESC LIMIT 1;

-- name: baseline_delete
DELETE FROM baseline WHERE tenant = $1 AND id = $2;

-- The newest baseline of a session; it keeps the session from deletion.
-- name: baseline_of_session
SELECT * FROM baseline_row WHERE tenant = $1 AND session = $2
ORDER BY created_ms DESC LIMIT 1;

-- name: baseline_label_count
SELECT COUNT(*) FROM baseline
WHERE tenant = $1 AND service = $2 AND type = $3 AND label = $4;

-- name: baseline_delete_service
DELETE FROM baseline WHERE tenant = $1 AND service = $2;

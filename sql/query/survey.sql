-- Hosts of a fleet are left out: surveys do not reach them.
-- name: survey_ask
INSERT INTO survey (id, host, tenant, match_kind, match_value, found, asked_ms)
SELECT $1, w.host, $2, $3, $4, '', now_ms() FROM worker w
WHERE w.alive_until_ms > now_ms() AND ($5 = '' OR w.host = $5)
  AND w.tenants = '*';

-- Columns: the fields of struct survey, in order.
-- name: survey_read
SELECT id, host, tenant, match_kind, match_value, found
FROM survey WHERE id = $1 ORDER BY host;

-- The oldest survey of each tenant comes first.
-- name: survey_waiting
SELECT id, host, tenant, match_kind, match_value, found
FROM survey
WHERE host = $1 AND found = '' AND asked_ms > now_ms() - CAST($2 AS BIGINT)
ORDER BY ROW_NUMBER() OVER (PARTITION BY tenant ORDER BY asked_ms, id),
  asked_ms, id LIMIT CAST($3 AS BIGINT);

-- name: survey_answer
UPDATE survey SET found = $1 WHERE id = $2 AND host = $3;

-- name: survey_forget
DELETE FROM survey WHERE id = $1 OR asked_ms <= now_ms() - CAST($2 AS BIGINT);

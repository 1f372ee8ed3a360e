-- Columns: the fields of struct service, in order.

-- name: service_insert
INSERT INTO service (tenant, name, kind, host, match_kind, match_value,
                     pprof_url, source, allow, labels, description,
                     source_link, trace_link, collector, metrics, created_ms,
                     updated_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
        now_ms(), now_ms())
ON CONFLICT DO NOTHING;

-- name: service_update
UPDATE service
SET kind = $1, host = $2, match_kind = $3, match_value = $4, pprof_url = $5,
    source = $6, allow = $7, labels = $8, description = $9,
    source_link = $10, trace_link = $11, collector = $12, metrics = $13,
    updated_ms = now_ms()
WHERE tenant = $14 AND name = $15;

-- name: service_get
SELECT tenant, name, kind, host, match_kind, match_value, pprof_url, source,
       allow, labels, description, source_link, trace_link, collector,
       metrics, created_ms, updated_ms
FROM service WHERE tenant = $1 AND name = $2;

-- name: service_list
SELECT tenant, name, kind, host, match_kind, match_value, pprof_url, source,
       allow, labels, description, source_link, trace_link, collector,
       metrics, created_ms, updated_ms
FROM service WHERE tenant = $1 AND name > $2
ORDER BY name LIMIT CAST($3 AS BIGINT);

-- The states of the services from $2 to $3, by name. Columns of struct
-- service_state, in its order.
-- name: service_states
SELECT s.name AS service, COALESCE(p.processes, 0) AS processes,
       COALESCE(p.hosts, 0) AS hosts, COALESCE(p.host, '') AS host, COALESCE(x.id, '') AS session,
       COALESCE(x.type, '') AS type, COALESCE(x.status, '') AS status,
       COALESCE(j.error_code, '') AS error,
       COALESCE(x.started_ms, 0) AS started_ms
FROM service s LEFT JOIN
  (SELECT r.service, COUNT(*) AS processes, COUNT(DISTINCT r.host) AS hosts,
          MIN(r.host) AS host
   FROM process r JOIN worker w ON w.host = r.host
   WHERE r.tenant = $1 AND w.alive_until_ms > now_ms()
   GROUP BY r.service) p ON p.service = s.name
  LEFT JOIN session x ON x.id =
    (SELECT y.id FROM session y
     WHERE y.tenant = s.tenant AND y.service = s.name
     ORDER BY y.created_ms DESC, y.id DESC LIMIT 1)
  LEFT JOIN job j ON j.session = x.id
WHERE s.tenant = $1 AND s.name >= $2 AND s.name <= $3
ORDER BY s.name;

-- name: service_list_host
SELECT tenant, name, kind, host, match_kind, match_value, pprof_url, source,
       allow, labels, description, source_link, trace_link, collector,
       metrics, created_ms, updated_ms
FROM service WHERE host IN ('', $1) AND match_kind <> ''
ORDER BY tenant, name;

-- name: service_list_metrics
SELECT tenant, name, kind, host, match_kind, match_value, pprof_url, source,
       allow, labels, description, source_link, trace_link, collector,
       metrics, created_ms, updated_ms
FROM service WHERE metrics <> '[]' AND ($1 = '' OR tenant = $1)
ORDER BY tenant, name LIMIT 1000;

-- name: service_delete
DELETE FROM service WHERE tenant = $1 AND name = $2;

-- name: service_delete_blobs
UPDATE blob SET deleted_ms = now_ms()
WHERE deleted_ms = 0 AND session IN
  (SELECT id FROM session WHERE tenant = $1 AND service = $2);

-- Columns: the fields of struct service_contents, in order.
-- name: service_contents
SELECT
  (SELECT COUNT(*) FROM session WHERE tenant = $1 AND service = $2)
    AS sessions,
  (SELECT COUNT(*) FROM profile_window w JOIN series s ON s.id = w.series
   WHERE s.tenant = $1 AND s.service = $2) AS windows,
  (SELECT COUNT(*) FROM baseline WHERE tenant = $1 AND service = $2)
    AS baselines,
  (SELECT COUNT(*) FROM trigger_rule WHERE tenant = $1 AND service = $2)
    AS triggers,
  CAST((SELECT COALESCE(SUM(b.length), 0)
        FROM blob b JOIN session p ON p.id = b.session
        WHERE p.tenant = $1 AND p.service = $2 AND b.deleted_ms = 0) +
       (SELECT COALESCE(SUM(w.length), 0)
        FROM profile_window w JOIN series s ON s.id = w.series
        WHERE s.tenant = $1 AND s.service = $2) AS BIGINT) AS bytes;

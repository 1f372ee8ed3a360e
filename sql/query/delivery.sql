-- Profiles that wait to be sent to collectors: store/delivery.h.

-- Adds a window of a series of this host, if its service has a collector.
-- name: delivery_add_window
INSERT INTO delivery (source, host, tenant, service, queued_ms, last)
SELECT $1, s.host, s.tenant, s.service, now_ms(), 0
FROM series s JOIN service v ON v.tenant = s.tenant AND v.name = s.service
WHERE s.id = $2 AND s.host = $3 AND v.collector <> '';

-- name: delivery_add_session
INSERT INTO delivery (source, host, tenant, service, queued_ms, last)
SELECT s.id, j.host, s.tenant, s.service, now_ms(), 0
FROM session s JOIN job j ON j.session = s.id
  JOIN service v ON v.tenant = s.tenant AND v.name = s.service
WHERE s.id = $1 AND v.collector <> ''
ON CONFLICT DO NOTHING;

-- The oldest delivery of each service, one for each tenant first. Columns of
-- struct delivery, in its order.
-- name: delivery_oldest
SELECT d.source, v.tenant, v.name AS service, v.collector, d.queued_ms
FROM service v JOIN delivery d ON d.source =
  (SELECT e.source FROM delivery e
   WHERE e.tenant = v.tenant AND e.service = v.name AND e.host = $1
   ORDER BY e.queued_ms, e.source LIMIT 1)
WHERE v.collector <> ''
ORDER BY ROW_NUMBER() OVER (PARTITION BY v.tenant
                            ORDER BY d.queued_ms, d.source),
  d.queued_ms, d.source LIMIT CAST($2 AS BIGINT);

-- The deliveries of services that no longer have a collector.
-- name: delivery_unwanted
SELECT d.source, d.tenant, d.service, v.collector, d.queued_ms
FROM delivery d JOIN service v ON v.tenant = d.tenant AND v.name = d.service
WHERE d.host = $1 AND v.collector = '' LIMIT CAST($2 AS BIGINT);

-- The deliveries of a service except its newest $5.
-- name: delivery_excess
SELECT source, tenant, service, '' AS collector, queued_ms FROM delivery
WHERE tenant = $1 AND service = $2 AND host = $3
ORDER BY queued_ms DESC, source DESC
LIMIT CAST($4 AS BIGINT) OFFSET CAST($5 AS BIGINT);

-- name: delivery_waiting
SELECT COUNT(*) FROM delivery WHERE host = $1;

-- name: delivery_end
DELETE FROM delivery WHERE source = $1;

-- name: delivery_is_last
SELECT last FROM delivery WHERE source = $1;

-- name: delivery_make_last
UPDATE delivery SET last = 1 WHERE source = $1;

-- Deletes old deliveries: their host is gone or renamed, or their collector
-- has not accepted them. A delivery with which its session ends is deleted
-- with the session.
-- name: delivery_prune
DELETE FROM delivery
WHERE queued_ms < now_ms() - CAST($1 AS BIGINT) AND last = 0;

-- compatible: 23
-- Collectors of services, and the profiles that wait to be sent to them
-- (store/delivery.h).
ALTER TABLE service ADD COLUMN collector TEXT NOT NULL DEFAULT '';

CREATE TABLE delivery (
  source    TEXT PRIMARY KEY,          -- session or window
  host      TEXT NOT NULL,             -- whose worker sends it
  tenant    TEXT NOT NULL,
  service   TEXT NOT NULL,
  queued_ms BIGINT NOT NULL,
  last      BIGINT NOT NULL,           -- 1: its session is deleted with it
  FOREIGN KEY (tenant, service) REFERENCES service (tenant, name)
    ON DELETE CASCADE
);
CREATE INDEX service_collector ON service (tenant, name)
  WHERE collector <> '';
CREATE INDEX delivery_queue
  ON delivery (tenant, service, host, queued_ms, source);

-- compatible: 1
-- Profile types that continuous profiling can't capture, and the reasons: a
-- row stays until capturing works again.
CREATE TABLE continuous_problem (
  tenant   TEXT NOT NULL,
  service  TEXT NOT NULL,
  type     TEXT NOT NULL,
  host     TEXT NOT NULL,
  code     TEXT NOT NULL,
  message  TEXT NOT NULL,
  since_ms BIGINT NOT NULL,
  PRIMARY KEY (tenant, service, type, host),
  FOREIGN KEY (tenant, service) REFERENCES service (tenant, name)
    ON DELETE CASCADE
);

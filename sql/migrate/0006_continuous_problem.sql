-- compatible: 1
-- What is to be profiled all the time and can't be, and why: a row stays
-- until that works again.
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

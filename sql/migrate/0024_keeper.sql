-- compatible: 23
-- Work that one process does for all processes that share a database.

-- A lease is held until a time by the database's clock.
CREATE TABLE lease (
  name     TEXT PRIMARY KEY,
  holder   TEXT NOT NULL,
  host     TEXT NOT NULL,
  until_ms BIGINT NOT NULL
);

-- Hours of a service that hosts of a fleet sent, and up to where they are added
-- up over hosts (store/host_sum.h).
CREATE TABLE host_sum (
  tenant  TEXT NOT NULL,
  service TEXT NOT NULL,
  hour_ms BIGINT NOT NULL,
  changes BIGINT NOT NULL,             -- blocks that came, and told of it
  summed  BIGINT NOT NULL,             -- changes when it was added up
  hosts   BIGINT NOT NULL,             -- that the sum is of; 0: there is none
  PRIMARY KEY (tenant, service, hour_ms),
  FOREIGN KEY (tenant, service) REFERENCES service (tenant, name)
    ON DELETE CASCADE
);
CREATE INDEX host_sum_due ON host_sum (hour_ms) WHERE summed < changes;

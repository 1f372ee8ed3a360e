-- compatible: 23
-- Work that one process does for all processes that share a database.

-- A lease is held until a time of the database's clock.
CREATE TABLE lease (
  name     TEXT PRIMARY KEY,
  holder   TEXT NOT NULL,
  host     TEXT NOT NULL,
  until_ms BIGINT NOT NULL
);

-- Hours of a service that hosts of a fleet sent, and how many of their changes
-- the sum over hosts includes (store/host_sum.h).
CREATE TABLE host_sum (
  tenant  TEXT NOT NULL,
  service TEXT NOT NULL,
  hour_ms BIGINT NOT NULL,
  changes BIGINT NOT NULL,             -- blocks that have changed the hour
  summed  BIGINT NOT NULL,             -- value of changes when it was added up
  hosts   BIGINT NOT NULL,             -- in the sum; 0: there is no sum
  PRIMARY KEY (tenant, service, hour_ms),
  FOREIGN KEY (tenant, service) REFERENCES service (tenant, name)
    ON DELETE CASCADE
);
CREATE INDEX host_sum_due ON host_sum (hour_ms) WHERE summed < changes;

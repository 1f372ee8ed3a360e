-- compatible: 1
-- The processes that captures of a service include, as its host's worker last
-- found them: matching ones and their descendants. Also the numbers of
-- processes left out, by reason.
CREATE TABLE process_tree (
  host         TEXT NOT NULL,
  tenant       TEXT NOT NULL,
  service      TEXT NOT NULL,
  followed     BIGINT NOT NULL,
  other_unit   BIGINT NOT NULL,  -- descendants in another unit
  out_of_scope BIGINT NOT NULL,  -- descendants outside of the tenant's scope
  too_many     BIGINT NOT NULL,  -- beyond the number that is followed
  refused      BIGINT NOT NULL,  -- matching, outside of the tenant's scope
  PRIMARY KEY (tenant, service, host),
  FOREIGN KEY (tenant, service) REFERENCES service (tenant, name)
    ON DELETE CASCADE
);

-- compatible: 1
-- The processes that captures of a service include, as its host's worker
-- found last: matching ones and their descendants; and the numbers of those
-- left out, by reason.
CREATE TABLE process_tree (
  host         TEXT NOT NULL,
  tenant       TEXT NOT NULL,
  service      TEXT NOT NULL,
  followed     BIGINT NOT NULL,
  other_unit   BIGINT NOT NULL,  -- descendants in another unit
  out_of_scope BIGINT NOT NULL,  -- descendants outside of the tenant's scope
  too_many     BIGINT NOT NULL,  -- more than are followed
  refused      BIGINT NOT NULL,  -- match, outside of the tenant's scope
  PRIMARY KEY (tenant, service, host),
  FOREIGN KEY (tenant, service) REFERENCES service (tenant, name)
    ON DELETE CASCADE
);

-- compatible: 1
-- Samply runs: one at a time for each process of a pipeline.

CREATE UNIQUE INDEX session_one_samply ON session (tenant, service, ordinal)
  WHERE status = 'running' AND origin = 'samply';
CREATE INDEX session_samply
  ON session (tenant, service, ordinal, created_ms, id)
  WHERE origin = 'samply';

-- compatible: 23
-- A firing of a trigger of kind shift has the time of the shift, with its 95 %
-- interval; other kinds have 0.
ALTER TABLE trigger_firing ADD COLUMN since_ms BIGINT NOT NULL DEFAULT 0;
ALTER TABLE trigger_firing ADD COLUMN earliest_ms BIGINT NOT NULL DEFAULT 0;
ALTER TABLE trigger_firing ADD COLUMN latest_ms BIGINT NOT NULL DEFAULT 0;

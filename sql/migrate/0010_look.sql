-- compatible: 1
-- A start that finds no process of its service asks the host's worker to
-- look for processes again, and waits for the result.

ALTER TABLE worker ADD COLUMN look_wanted_ms BIGINT NOT NULL DEFAULT 0;
-- When the worker began the look that found the rows of process.
ALTER TABLE worker ADD COLUMN looked_ms BIGINT NOT NULL DEFAULT 0;

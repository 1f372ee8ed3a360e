-- compatible: 1
-- A start that finds no process of its service asks the host's worker to look
-- at the processes anew, and decides by what that look finds.

ALTER TABLE worker ADD COLUMN look_wanted_ms BIGINT NOT NULL DEFAULT 0;
-- When the look began that the rows of process come from.
ALTER TABLE worker ADD COLUMN looked_ms BIGINT NOT NULL DEFAULT 0;

-- compatible: 16
-- The state of hosts of a fleet, which they send with each heartbeat.

ALTER TABLE worker ADD COLUMN told_ms BIGINT NOT NULL DEFAULT 0; -- 0: never
-- How far the host's clock is ahead of this one.
ALTER TABLE worker ADD COLUMN clock_ms BIGINT NOT NULL DEFAULT 0;
-- Data that waits on the host: minutes of continuous profiling, and results.
ALTER TABLE worker ADD COLUMN waiting_windows BIGINT NOT NULL DEFAULT 0;
ALTER TABLE worker ADD COLUMN waiting_bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE worker ADD COLUMN waiting_results BIGINT NOT NULL DEFAULT 0;
-- When the oldest of these windows began; 0: none waits.
ALTER TABLE worker ADD COLUMN waiting_since_ms BIGINT NOT NULL DEFAULT 0;

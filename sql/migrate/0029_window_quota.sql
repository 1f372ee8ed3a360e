-- compatible: 26
-- Windows have the time for which a CPU quota held their processes back.
-- Blocks of hosts have it for each window, in longer entries of their
-- directory.
ALTER TABLE profile_window ADD COLUMN quota_ms BIGINT NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN quota_ms BIGINT NOT NULL DEFAULT 0;
ALTER TABLE block ADD COLUMN entry_bytes BIGINT NOT NULL DEFAULT 96;

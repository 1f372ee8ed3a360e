-- compatible: 20
-- Windows that hosts of a fleet send to its centre (store/block.h).

-- The bytes of a block are the blob with its id.
CREATE TABLE block (
  id       TEXT PRIMARY KEY,
  tenant   TEXT NOT NULL,
  host     TEXT NOT NULL,              -- that sent it
  tier     BIGINT NOT NULL,
  start_ms BIGINT NOT NULL,
  end_ms   BIGINT NOT NULL,
  windows  BIGINT NOT NULL,
  entries  BIGINT NOT NULL             -- where its directory begins
);
CREATE INDEX block_of_host ON block (tenant, host, tier, start_ms);
CREATE INDEX block_age ON block (tier, end_ms);

-- The time up to which a host has sent blocks: two requests with the same
-- block contend for this row.
CREATE TABLE block_cursor (
  tenant TEXT NOT NULL,
  host   TEXT NOT NULL,
  tier   BIGINT NOT NULL,
  end_ms BIGINT NOT NULL,
  PRIMARY KEY (tenant, host, tier)
);

-- Blocks by the day of their windows. Fresh blocks count until the block of
-- their hour has arrived.
CREATE TABLE block_usage (
  tenant  TEXT NOT NULL,
  day_ms  BIGINT NOT NULL,
  tier    BIGINT NOT NULL,
  blocks  BIGINT NOT NULL,
  windows BIGINT NOT NULL,
  bytes   BIGINT NOT NULL,
  PRIMARY KEY (tenant, day_ms, tier)
);

-- Pinned windows, by their place in the block.
CREATE TABLE block_pin (
  block TEXT NOT NULL REFERENCES block (id) ON DELETE CASCADE,
  nth   BIGINT NOT NULL,
  PRIMARY KEY (block, nth)
);

-- Windows of one series and block. A run of one window has the window's
-- checksum; the checksums of longer runs are in the directory of the block.
-- dialect: sqlite
CREATE TABLE run (
  series       TEXT NOT NULL REFERENCES series (id) ON DELETE CASCADE,
  tier         BIGINT NOT NULL,
  start_ms     BIGINT NOT NULL,
  end_ms       BIGINT NOT NULL,
  block        TEXT NOT NULL,
  first        BIGINT NOT NULL,        -- its first window's place in the block
  n            BIGINT NOT NULL,
  duration_ms  BIGINT NOT NULL,
  windows      BIGINT NOT NULL,        -- number of captured windows in it
  sample_count BIGINT NOT NULL,
  value        BIGINT NOT NULL,
  start        BIGINT NOT NULL,        -- offset of its first byte
  length       BIGINT NOT NULL,
  checksum     TEXT NOT NULL,
  PRIMARY KEY (series, tier, start_ms)
);
CREATE INDEX run_of_block ON run (block);

-- Minutes and hours have a partition for each day, so that dropping a day takes
-- no time. Rows of days without a partition, such as rows of a host that was
-- long offline, are in the partition for the rest.
-- dialect: postgres
CREATE TABLE run (
  series       TEXT NOT NULL REFERENCES series (id) ON DELETE CASCADE,
  tier         BIGINT NOT NULL,
  start_ms     BIGINT NOT NULL,
  end_ms       BIGINT NOT NULL,
  block        TEXT NOT NULL,
  first        BIGINT NOT NULL,
  n            BIGINT NOT NULL,
  duration_ms  BIGINT NOT NULL,
  windows      BIGINT NOT NULL,
  sample_count BIGINT NOT NULL,
  value        BIGINT NOT NULL,
  start        BIGINT NOT NULL,
  length       BIGINT NOT NULL,
  checksum     TEXT NOT NULL,
  PRIMARY KEY (series, tier, start_ms)
) PARTITION BY LIST (tier);
CREATE INDEX run_of_block ON run (block);
CREATE TABLE run_fresh PARTITION OF run FOR VALUES IN (0);
CREATE TABLE run_minute PARTITION OF run FOR VALUES IN (1)
  PARTITION BY RANGE (start_ms);
CREATE TABLE run_minute_rest PARTITION OF run_minute DEFAULT;
CREATE TABLE run_hour PARTITION OF run FOR VALUES IN (2)
  PARTITION BY RANGE (start_ms);
CREATE TABLE run_hour_rest PARTITION OF run_hour DEFAULT;
CREATE TABLE run_day PARTITION OF run FOR VALUES IN (3);

-- A day's partition is called, for example, run_minute_20787, by the number of
-- days since 1970. Only days without a row in the partition for the rest get
-- one.
CREATE FUNCTION run_day_make(of_tier BIGINT, day BIGINT) RETURNS BIGINT
LANGUAGE plpgsql AS $$
DECLARE
  parent TEXT := CASE of_tier WHEN 1 THEN 'run_minute' ELSE 'run_hour' END;
  from_ms BIGINT := day * 86400000;
BEGIN
  IF to_regclass(parent || '_' || day) IS NOT NULL OR EXISTS (
       SELECT 1 FROM run WHERE tier = of_tier AND start_ms >= from_ms
         AND start_ms < from_ms + 86400000) THEN
    RETURN 0;
  END IF;
  EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%s) TO (%s)',
                 parent || '_' || day, parent, from_ms, from_ms + 86400000);
  RETURN 1;
END $$;

-- Drops partitions of past days that no longer have a block.
CREATE FUNCTION run_days_drop() RETURNS BIGINT
LANGUAGE plpgsql AS $$
DECLARE
  p RECORD;
  dropped BIGINT := 0;
BEGIN
  FOR p IN
    SELECT of_tier, relname, CAST(substring(relname FROM '[0-9]+$') AS BIGINT)
      * 86400000 AS from_ms
    FROM (VALUES (1, 'run_minute'), (2, 'run_hour')) AS t (of_tier, parent)
      JOIN pg_inherits i ON i.inhparent = to_regclass(t.parent)
      JOIN pg_class c ON c.oid = i.inhrelid
    WHERE c.relname ~ '_[0-9]+$'
  LOOP
    CONTINUE WHEN p.from_ms + 86400000 > now_ms() OR EXISTS (
      SELECT 1 FROM block b WHERE b.tier = p.of_tier
        AND b.start_ms < p.from_ms + 86400000 AND b.end_ms > p.from_ms);
    EXECUTE format('DROP TABLE %I', p.relname);
    dropped := dropped + 1;
  END LOOP;
  RETURN dropped;
END $$;

-- compatible: 1
-- Continuous profiling: what is wanted, and the windows that come of it.

CREATE TABLE continuous (
  tenant         TEXT NOT NULL,
  service        TEXT NOT NULL,
  types          TEXT NOT NULL,        -- JSON array
  sample_rate    BIGINT NOT NULL,
  retention_days BIGINT NOT NULL,
  enabled        BIGINT NOT NULL,
  created_by     TEXT NOT NULL,
  created_ms     BIGINT NOT NULL,
  updated_ms     BIGINT NOT NULL,
  PRIMARY KEY (tenant, service),
  FOREIGN KEY (tenant, service) REFERENCES service (tenant, name)
    ON DELETE CASCADE
);

-- Windows that may be added up: one type of one service, on one host, under
-- the same labels.
CREATE TABLE series (
  id         TEXT PRIMARY KEY,
  tenant     TEXT NOT NULL,
  service    TEXT NOT NULL,
  type       TEXT NOT NULL,
  host       TEXT NOT NULL,
  labels     TEXT NOT NULL,            -- JSON object, keys sorted
  created_ms BIGINT NOT NULL,
  UNIQUE (tenant, service, type, host, labels),
  FOREIGN KEY (tenant, service) REFERENCES service (tenant, name)
    ON DELETE CASCADE
);

-- A file that windows are appended to. Bytes past its length belong to
-- nobody: their writer died before its transaction.
CREATE TABLE segment (
  id         TEXT PRIMARY KEY,
  host       TEXT NOT NULL,
  store      TEXT NOT NULL,
  name       TEXT NOT NULL,
  length     BIGINT NOT NULL,
  created_ms BIGINT NOT NULL
);

-- Level 0: as captured. Above: what all windows of a minute, hour or day add
-- up to, of which each names it as its parent.
CREATE TABLE profile_window (
  id           TEXT PRIMARY KEY,
  series       TEXT NOT NULL REFERENCES series (id) ON DELETE CASCADE,
  parent       TEXT NOT NULL,          -- '': not rolled up yet
  segment      TEXT NOT NULL,
  checksum     TEXT NOT NULL,          -- SHA-256, hexadecimal
  level        BIGINT NOT NULL,
  start_ms     BIGINT NOT NULL,
  end_ms       BIGINT NOT NULL,
  duration_ms  BIGINT NOT NULL,        -- captured within it
  windows      BIGINT NOT NULL,        -- as captured, that it holds
  sample_count BIGINT NOT NULL,
  value        BIGINT NOT NULL,        -- total of the default value type
  start        BIGINT NOT NULL,        -- offset of its first byte
  length       BIGINT NOT NULL,
  pinned       BIGINT NOT NULL
);
CREATE INDEX profile_window_range
  ON profile_window (series, level, start_ms);
CREATE INDEX profile_window_open
  ON profile_window (level, start_ms) WHERE parent = '';
CREATE INDEX profile_window_age ON profile_window (end_ms, level, id);
CREATE INDEX profile_window_of_segment ON profile_window (segment);
CREATE INDEX profile_window_of_parent
  ON profile_window (parent) WHERE parent <> '';

-- Bytes of deleted windows, until the worker has given them back.
CREATE TABLE segment_hole (
  segment TEXT NOT NULL,
  start   BIGINT NOT NULL,
  length  BIGINT NOT NULL,
  PRIMARY KEY (segment, start)
);

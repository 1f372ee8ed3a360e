-- compatible: 1
-- Continuous profiling: the services to profile, and the windows that
-- result.

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

-- A file to which windows are appended. Bytes past its length are unused:
-- their writer died before its transaction.
CREATE TABLE segment (
  id         TEXT PRIMARY KEY,
  host       TEXT NOT NULL,
  store      TEXT NOT NULL,
  name       TEXT NOT NULL,
  length     BIGINT NOT NULL,
  created_ms BIGINT NOT NULL
);

-- Windows as captured have level 0. A higher level holds the sum of all
-- windows of a minute, hour or day, which have that window as their parent.
CREATE TABLE profile_window (
  id           TEXT PRIMARY KEY,
  series       TEXT NOT NULL REFERENCES series (id) ON DELETE CASCADE,
  parent       TEXT NOT NULL,          -- '': not rolled up yet
  segment      TEXT NOT NULL,
  checksum     TEXT NOT NULL,          -- SHA-256, hexadecimal
  level        BIGINT NOT NULL,
  start_ms     BIGINT NOT NULL,
  end_ms       BIGINT NOT NULL,
  duration_ms  BIGINT NOT NULL,        -- time captured within it
  windows      BIGINT NOT NULL,        -- number of captured windows in it
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

-- Bytes of deleted windows, until the worker has freed them.
CREATE TABLE segment_hole (
  segment TEXT NOT NULL,
  start   BIGINT NOT NULL,
  length  BIGINT NOT NULL,
  PRIMARY KEY (segment, start)
);

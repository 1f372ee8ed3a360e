-- compatible: 1
-- The schema on which every later migration builds.
--
-- Only types that SQLite and PostgreSQL read alike are used: TEXT, BIGINT,
-- DOUBLE PRECISION. Times are epoch milliseconds by the database's clock,
-- now_ms(); flags are 0 or 1; hashes and keys are hexadecimal text.

-- dialect: postgres
CREATE FUNCTION now_ms() RETURNS BIGINT LANGUAGE SQL STABLE AS
  $$ SELECT CAST(extract(epoch FROM statement_timestamp()) * 1000 AS BIGINT) $$;

-- dialect: all
CREATE TABLE migration (
  version    BIGINT PRIMARY KEY,
  compatible BIGINT NOT NULL,          -- oldest release that works on it
  name       TEXT NOT NULL,
  applied_ms BIGINT NOT NULL
);

CREATE TABLE token (
  id             TEXT PRIMARY KEY,
  name           TEXT NOT NULL,
  hash           TEXT NOT NULL UNIQUE, -- SHA-256 of the key, hexadecimal
  role           TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
  tenants        TEXT NOT NULL,        -- words separated by spaces
  default_tenant TEXT NOT NULL,
  created_ms     BIGINT NOT NULL,
  expires_ms     BIGINT NOT NULL,      -- 0: never
  revoked_ms     BIGINT NOT NULL,      -- 0: valid
  last_used_ms   BIGINT NOT NULL
);

CREATE TABLE service (
  tenant      TEXT NOT NULL,
  name        TEXT NOT NULL,
  kind        TEXT NOT NULL CHECK (kind IN ('auto', 'native', 'go')),
  host        TEXT NOT NULL,           -- '': the only worker's
  match_kind  TEXT NOT NULL
              CHECK (match_kind IN ('', 'unit', 'exe', 'pidFile', 'cmdline')),
  match_value TEXT NOT NULL,
  pprof_url   TEXT NOT NULL,
  source      TEXT NOT NULL CHECK (source IN ('auto', 'outside', 'endpoint')),
  allow       TEXT NOT NULL,           -- JSON object
  labels      TEXT NOT NULL,           -- JSON object
  description TEXT NOT NULL,
  created_ms  BIGINT NOT NULL,
  updated_ms  BIGINT NOT NULL,
  PRIMARY KEY (tenant, name)
);

CREATE TABLE worker (
  host           TEXT PRIMARY KEY,
  boot_id        TEXT NOT NULL,
  version        TEXT NOT NULL,
  pid            BIGINT NOT NULL,
  capabilities   TEXT NOT NULL,        -- JSON object
  started_ms     BIGINT NOT NULL,
  heartbeat_ms   BIGINT NOT NULL,
  alive_until_ms BIGINT NOT NULL       -- taken for dead if silent past this
);

-- Processes that a host's worker sees running. Each process of a service keeps
-- its ordinal until it exits.
CREATE TABLE process (
  host       TEXT NOT NULL,
  tenant     TEXT NOT NULL,
  service    TEXT NOT NULL,
  ordinal    BIGINT NOT NULL,
  boot_id    TEXT NOT NULL,
  pid        BIGINT NOT NULL,
  start_time BIGINT NOT NULL,          -- clock ticks since boot
  argv0      TEXT NOT NULL,
  cmdline    TEXT NOT NULL,
  seen_ms    BIGINT NOT NULL,
  PRIMARY KEY (tenant, service, host, ordinal),
  FOREIGN KEY (tenant, service) REFERENCES service (tenant, name)
    ON DELETE CASCADE
);
CREATE INDEX process_by_host ON process (host);

CREATE TABLE session (
  id            TEXT PRIMARY KEY,
  tenant        TEXT NOT NULL,
  service       TEXT NOT NULL,
  type          TEXT NOT NULL,
  origin        TEXT NOT NULL
                CHECK (origin IN ('capture', 'upload', 'window', 'samply')),
  status        TEXT NOT NULL
                CHECK (status IN ('running', 'completed', 'failed')),
  ordinal       BIGINT NOT NULL,       -- -1: all processes of the service
  asked_seconds BIGINT NOT NULL,
  asked_rate    BIGINT NOT NULL,
  labels        TEXT NOT NULL,         -- JSON object
  created_by    TEXT NOT NULL,
  created_ms    BIGINT NOT NULL,
  started_ms    BIGINT NOT NULL,       -- created_ms until the capture starts
  completed_ms  BIGINT NOT NULL,       -- 0 while running
  duration_ms   BIGINT NOT NULL,       -- captured, not requested
  rate          DOUBLE PRECISION NOT NULL,
  sample_count  BIGINT NOT NULL,
  top_functions TEXT NOT NULL,         -- JSON array
  quality       TEXT NOT NULL,         -- JSON object
  FOREIGN KEY (tenant, service) REFERENCES service (tenant, name)
    ON DELETE CASCADE
);
-- One running capture on demand per service and type.
CREATE UNIQUE INDEX session_one_capture ON session (tenant, service, type)
  WHERE status = 'running' AND origin = 'capture';
CREATE INDEX session_history ON session (tenant, service, created_ms, id);
CREATE INDEX session_newest ON session (tenant, created_ms, id);
CREATE INDEX session_age ON session (created_ms);

-- Jobs of a host's worker. The worker's writes name their attempt, so that an
-- abandoned attempt changes nothing.
CREATE TABLE job (
  session          TEXT PRIMARY KEY
                   REFERENCES session (id) ON DELETE CASCADE,
  host             TEXT NOT NULL,
  state            TEXT NOT NULL CHECK (state IN
                     ('queued', 'running', 'done', 'failed', 'cancelled')),
  attempt          BIGINT NOT NULL,
  lease_until_ms   BIGINT NOT NULL,
  progress         DOUBLE PRECISION NOT NULL, -- 0..1
  phase            TEXT NOT NULL,
  error_code       TEXT NOT NULL,
  error_message    TEXT NOT NULL,
  cancel_requested BIGINT NOT NULL,
  created_ms       BIGINT NOT NULL
);
CREATE INDEX job_queue ON job (host, created_ms, session)
  WHERE state = 'queued';
CREATE INDEX job_running ON job (host) WHERE state = 'running';

-- Bytes kept outside the database. Rows outlive their session until the
-- worker has removed the bytes.
CREATE TABLE blob (
  id         TEXT PRIMARY KEY,
  session    TEXT NOT NULL,
  kind       TEXT NOT NULL,
  store      TEXT NOT NULL,
  name       TEXT NOT NULL,
  start      BIGINT NOT NULL,          -- offset of its first byte in name
  length     BIGINT NOT NULL,
  checksum   TEXT NOT NULL,            -- SHA-256, hexadecimal
  created_ms BIGINT NOT NULL,
  deleted_ms BIGINT NOT NULL           -- 0: live
);
CREATE INDEX blob_of_session ON blob (session) WHERE deleted_ms = 0;
CREATE INDEX blob_age ON blob (created_ms) WHERE deleted_ms = 0;
CREATE INDEX blob_deleted ON blob (deleted_ms) WHERE deleted_ms > 0;

-- Sessions as they are read: with the state of their job, if they have one
-- (uploads have none). The columns are the fields of struct session, in order.
CREATE VIEW session_row AS
SELECT s.id, s.tenant, s.service, s.type, s.origin, s.status, s.labels,
       s.created_by, s.top_functions, s.quality,
       COALESCE(j.phase, 'done') AS phase,
       COALESCE(j.error_code, '') AS error_code,
       COALESCE(j.error_message, '') AS error_message,
       COALESCE(j.host, '') AS host,
       s.ordinal, s.asked_seconds, s.asked_rate, s.created_ms, s.started_ms,
       s.completed_ms, s.duration_ms, s.sample_count,
       COALESCE(j.cancel_requested, 0) AS cancel_requested,
       CASE WHEN EXISTS (SELECT 1 FROM blob b WHERE b.session = s.id
                         AND b.deleted_ms = 0) THEN 1 ELSE 0 END
         AS has_profile,
       s.rate, COALESCE(j.progress, 1) AS progress
FROM session s LEFT JOIN job j ON j.session = s.id;

CREATE TABLE idempotency (
  tenant      TEXT NOT NULL,
  actor       TEXT NOT NULL,
  key         TEXT NOT NULL,
  fingerprint TEXT NOT NULL,           -- of the request that first used it
  status      BIGINT NOT NULL,
  location    TEXT NOT NULL,
  body        TEXT NOT NULL,
  created_ms  BIGINT NOT NULL,
  PRIMARY KEY (tenant, actor, key)
);
CREATE INDEX idempotency_age ON idempotency (created_ms);

CREATE TABLE audit (
  id         TEXT PRIMARY KEY,
  at_ms      BIGINT NOT NULL,
  tenant     TEXT NOT NULL,
  actor      TEXT NOT NULL,
  action     TEXT NOT NULL,
  target     TEXT NOT NULL,
  request_id TEXT NOT NULL,
  detail     TEXT NOT NULL             -- JSON object
);
CREATE INDEX audit_newest ON audit (tenant, at_ms, id);
CREATE INDEX audit_age ON audit (at_ms);

CREATE TABLE link_key (
  id         TEXT PRIMARY KEY,
  secret     TEXT NOT NULL,            -- hexadecimal
  created_ms BIGINT NOT NULL
);

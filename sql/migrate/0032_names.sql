-- compatible: 23
-- Names of frames that were pushed without one (store/names.h).

CREATE TABLE unnamed_module (
  id           TEXT PRIMARY KEY,
  tenant       TEXT NOT NULL,
  service      TEXT NOT NULL,          -- in which it was first seen
  host         TEXT NOT NULL,          -- whose worker looks for names
  build_id     TEXT NOT NULL,
  file         TEXT NOT NULL,
  start        BIGINT NOT NULL,
  mapped_limit BIGINT NOT NULL,
  file_offset  BIGINT NOT NULL,
  state        TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done')),
  tries        BIGINT NOT NULL,        -- since the last success
  frames       BIGINT NOT NULL,        -- rows of unnamed_frame
  named        BIGINT NOT NULL,        -- number of them with lines
  asked_ms     BIGINT NOT NULL,
  named_ms     BIGINT NOT NULL,        -- when names were last found; 0: never
  seen_ms      BIGINT NOT NULL,        -- when it was last pushed
  UNIQUE (tenant, build_id, start, mapped_limit, file_offset)
);
CREATE INDEX unnamed_module_queue ON unnamed_module (host, state, asked_ms);

CREATE TABLE unnamed_frame (
  module  TEXT NOT NULL REFERENCES unnamed_module (id) ON DELETE CASCADE,
  address BIGINT NOT NULL,
  lines   TEXT NOT NULL,               -- '': no name is known
  PRIMARY KEY (module, address)
);

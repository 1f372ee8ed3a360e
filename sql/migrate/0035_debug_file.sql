-- compatible: 23
-- Debug files that clients push (store/debug_file.h). A file's bytes are the
-- blob whose session is the file's id.

CREATE TABLE debug_file (
  id         TEXT PRIMARY KEY,
  tenant     TEXT NOT NULL,
  name       TEXT NOT NULL,
  build_id   TEXT NOT NULL,            -- in its bytes
  go_id      TEXT NOT NULL,            -- another id of the program; '': none
  htlhash    TEXT NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('stored', 'used', 'refused')),
  created_by TEXT NOT NULL,
  bytes      BIGINT NOT NULL,
  created_ms BIGINT NOT NULL,
  used_ms    BIGINT NOT NULL,          -- when it last gave names, or was added
  UNIQUE (tenant, build_id)
);
CREATE INDEX debug_file_go ON debug_file (tenant, go_id) WHERE go_id <> '';
CREATE INDEX debug_file_htlhash ON debug_file (tenant, htlhash)
  WHERE htlhash <> '';
CREATE INDEX debug_file_age ON debug_file (used_ms);

-- Programs from which a stored profile has frames without names.
CREATE TABLE session_build (
  session  TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  build_id TEXT NOT NULL,
  PRIMARY KEY (session, build_id)
);
CREATE INDEX session_build_id ON session_build (build_id);

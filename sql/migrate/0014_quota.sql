-- compatible: 1
-- Quotas are counted by an index each.

-- Captures that were asked for in the last hour. Rows outlive their session:
-- to delete it gives no other capture.
CREATE TABLE capture_start (
  tenant  TEXT NOT NULL,
  at_ms   BIGINT NOT NULL,
  session TEXT NOT NULL,
  PRIMARY KEY (tenant, at_ms, session)
);

CREATE INDEX token_of_tenant ON token (default_tenant);
CREATE INDEX session_pinned ON session (tenant) WHERE pinned = 1;
CREATE INDEX profile_window_pinned ON profile_window (series)
  WHERE pinned = 1;

-- With the length, bytes of sessions are added up without reading blobs.
DROP INDEX blob_of_session;
CREATE INDEX blob_of_session ON blob (session, length) WHERE deleted_ms = 0;

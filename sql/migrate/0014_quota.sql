-- compatible: 1
-- Each quota is counted by an index.

-- Captures that were requested in the last hour. Rows outlive their session:
-- deleting a session does not allow another capture.
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

-- compatible: 1
-- Browsers that have signed in: each holds a cookie in place of a key.
CREATE TABLE browser_session (
  id             TEXT PRIMARY KEY,
  hash           TEXT NOT NULL UNIQUE, -- SHA-256 of the cookie, hexadecimal
  token          TEXT NOT NULL,        -- its key; '': signed in by a JWT
  actor          TEXT NOT NULL,        -- token, or jwt:SUBJECT
  role           TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
  tenants        TEXT NOT NULL,        -- words separated by spaces
  default_tenant TEXT NOT NULL,
  created_ms     BIGINT NOT NULL,
  used_ms        BIGINT NOT NULL,      -- to the minute
  expires_ms     BIGINT NOT NULL
);
CREATE INDEX browser_session_actor ON browser_session (actor, created_ms);
CREATE INDEX browser_session_tenant
  ON browser_session (default_tenant, created_ms, id);

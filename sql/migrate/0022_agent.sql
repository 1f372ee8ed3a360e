-- compatible: 16
-- Hosts of a fleet: keys of workers, and a host's records of the jobs and
-- services that it received from its centre.

-- A key of the role worker belongs to one host. A key of the role join is
-- exchanged for such a key, once; its host is '' if the host names itself.

-- dialect: sqlite
CREATE TABLE token_next (
  id             TEXT PRIMARY KEY,
  name           TEXT NOT NULL,
  hash           TEXT NOT NULL UNIQUE, -- SHA-256 of the key, hexadecimal
  role           TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'admin',
                                               'worker', 'join')),
  tenants        TEXT NOT NULL,        -- words separated by spaces
  default_tenant TEXT NOT NULL,
  created_ms     BIGINT NOT NULL,
  expires_ms     BIGINT NOT NULL,      -- 0: never
  revoked_ms     BIGINT NOT NULL,      -- 0: valid
  last_used_ms   BIGINT NOT NULL,
  host           TEXT NOT NULL DEFAULT ''
);
INSERT INTO token_next
SELECT id, name, hash, role, tenants, default_tenant, created_ms, expires_ms,
       revoked_ms, last_used_ms, '' FROM token;
DROP TABLE token;
ALTER TABLE token_next RENAME TO token;
CREATE INDEX token_of_tenant ON token (default_tenant);

-- dialect: postgres
ALTER TABLE token DROP CONSTRAINT token_role_check;
ALTER TABLE token ADD CONSTRAINT token_role_check
  CHECK (role IN ('viewer', 'operator', 'admin', 'worker', 'join'));
ALTER TABLE token ADD COLUMN host TEXT NOT NULL DEFAULT '';

-- dialect: all
CREATE INDEX token_of_host ON token (host) WHERE role = 'worker';

-- Tenants whose captures a worker takes: its key's; '*' is any tenant.
ALTER TABLE worker ADD COLUMN tenants TEXT NOT NULL DEFAULT '*';

-- On a host: jobs from the centre, until the centre has stored their results.
-- Session and job have separate rows, with the same id.
CREATE TABLE agent_job (
  session  TEXT PRIMARY KEY,
  tenant   TEXT NOT NULL,
  attempt  BIGINT NOT NULL,            -- the centre's number
  dropped  BIGINT NOT NULL,            -- 1: the centre wants no result
  refused  BIGINT NOT NULL,            -- 1: the centre can't store its bytes
  taken_ms BIGINT NOT NULL
);

-- On a host: services whose settings come from the centre.
CREATE TABLE agent_service (
  tenant  TEXT NOT NULL,
  service TEXT NOT NULL,
  made    BIGINT NOT NULL,             -- 0: the host had it before
  PRIMARY KEY (tenant, service),
  FOREIGN KEY (tenant, service) REFERENCES service (tenant, name)
    ON DELETE CASCADE
);

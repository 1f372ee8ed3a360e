-- compatible: 1
-- One running capture on demand per service, type and host: a service may be
-- profiled on several hosts at once. The host is known from the start; it is
-- '' in uploads, and in rows that an earlier release inserts.

ALTER TABLE session ADD COLUMN host TEXT NOT NULL DEFAULT '';
DROP INDEX session_one_capture;
CREATE UNIQUE INDEX session_one_capture ON session (tenant, service, type, host)
  WHERE status = 'running' AND origin = 'capture';

-- compatible: 1
-- The history of a service is in order of when its profiles began, not of
-- when they came here: uploads may be older than what was there before them.

CREATE INDEX session_started ON session (tenant, service, started_ms, id);

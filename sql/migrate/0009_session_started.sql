-- compatible: 1
-- The history of a service is ordered by the start of its profiles rather
-- than by their arrival: an upload may be older than profiles that were
-- stored before it.

CREATE INDEX session_started ON session (tenant, service, started_ms, id);

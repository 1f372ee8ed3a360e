-- compatible: 1
-- Surveys: the processes that a match would select on a host, before a service
-- has that match. A survey has a row for each host asked.
CREATE TABLE survey (
  id          TEXT NOT NULL,
  host        TEXT NOT NULL,
  tenant      TEXT NOT NULL,
  match_kind  TEXT NOT NULL,   -- '': whatever the tenant may profile
  match_value TEXT NOT NULL,
  found       TEXT NOT NULL,   -- JSON; '': not answered yet
  asked_ms    BIGINT NOT NULL,
  PRIMARY KEY (id, host)
);
CREATE INDEX survey_host ON survey (host, asked_ms);

-- compatible: 26
-- Services that a worker made by itself, so that it does not make a removed
-- service again.
CREATE TABLE discovered (
  tenant      TEXT NOT NULL,
  match_kind  TEXT NOT NULL,
  match_value TEXT NOT NULL,
  service     TEXT NOT NULL,           -- the name that the worker gave it
  found_ms    BIGINT NOT NULL,
  PRIMARY KEY (tenant, match_kind, match_value)
);

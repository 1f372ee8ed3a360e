-- compatible: 1
-- Rules that start a capture of a service, and their firings.
CREATE TABLE trigger_rule (
  id          TEXT PRIMARY KEY,
  tenant      TEXT NOT NULL,
  service     TEXT NOT NULL,
  name        TEXT NOT NULL,
  kind        TEXT NOT NULL,             -- include/triggers.def
  function    TEXT NOT NULL,
  threshold   DOUBLE PRECISION NOT NULL,
  minimum     BIGINT NOT NULL,
  type        TEXT NOT NULL,             -- of the capture, with what follows
  seconds     BIGINT NOT NULL,
  rate        BIGINT NOT NULL,
  webhook     TEXT NOT NULL,
  cooldown_ms BIGINT NOT NULL,
  enabled     BIGINT NOT NULL,
  created_by  TEXT NOT NULL,
  created_ms  BIGINT NOT NULL,
  updated_ms  BIGINT NOT NULL,
  value       DOUBLE PRECISION NOT NULL, -- last reported by the worker
  value_ms    BIGINT NOT NULL,           -- 0: never
  fired_ms    BIGINT NOT NULL,           -- 0: never
  UNIQUE (tenant, service, name),
  FOREIGN KEY (tenant, service) REFERENCES service (tenant, name)
    ON DELETE CASCADE
);

CREATE TABLE trigger_firing (
  id        TEXT PRIMARY KEY,
  rule      TEXT NOT NULL REFERENCES trigger_rule (id) ON DELETE CASCADE,
  host      TEXT NOT NULL,
  session   TEXT NOT NULL,
  url       TEXT NOT NULL,
  value     DOUBLE PRECISION NOT NULL,
  threshold DOUBLE PRECISION NOT NULL,
  fired_ms  BIGINT NOT NULL,
  state     TEXT NOT NULL,               -- none, waiting, sent or failed
  tries     BIGINT NOT NULL,
  next_ms   BIGINT NOT NULL              -- not before
);
CREATE INDEX trigger_firing_of_rule ON trigger_firing (rule, fired_ms);
CREATE INDEX trigger_firing_waits ON trigger_firing (host, next_ms)
  WHERE state = 'waiting';

-- The columns are the fields of struct trigger, in order.
CREATE VIEW trigger_row AS
SELECT r.id, r.tenant, r.service, r.name, r.kind, r.function, r.threshold,
       r.minimum, r.type, r.seconds, r.rate, r.webhook, r.cooldown_ms,
       r.enabled, r.created_by, r.created_ms, r.updated_ms, r.value,
       r.value_ms, r.fired_ms,
       COALESCE((SELECT f.session FROM trigger_firing f WHERE f.rule = r.id
                 ORDER BY f.fired_ms DESC LIMIT 1), '') AS session,
       COALESCE((SELECT f.state FROM trigger_firing f WHERE f.rule = r.id
                 ORDER BY f.fired_ms DESC LIMIT 1), '') AS sent
FROM trigger_rule r;

-- compatible: 23
-- A webhook that has failed and is tried again is "retrying", not "waiting".
DROP VIEW trigger_row;
CREATE VIEW trigger_row AS
SELECT r.id, r.tenant, r.service, r.name, r.kind, r.function, r.threshold,
       r.minimum, r.type, r.seconds, r.rate, r.webhook, r.cooldown_ms,
       r.enabled, r.created_by, r.created_ms, r.updated_ms, r.value,
       r.value_ms, r.fired_ms,
       COALESCE((SELECT f.session FROM trigger_firing f WHERE f.rule = r.id
                 ORDER BY f.fired_ms DESC LIMIT 1), '') AS session,
       COALESCE((SELECT CASE WHEN f.state = 'waiting' AND f.tries > 0
                             THEN 'retrying' ELSE f.state END
                 FROM trigger_firing f WHERE f.rule = r.id
                 ORDER BY f.fired_ms DESC LIMIT 1), '') AS sent
FROM trigger_rule r;

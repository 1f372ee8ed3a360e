-- compatible: 1
-- Baselines: sessions with a name, with which later ones are compared. A
-- baseline keeps its session and profile; a release that does not know
-- baselines can't delete them either.
CREATE TABLE baseline (
  id            TEXT PRIMARY KEY,
  tenant        TEXT NOT NULL,
  service       TEXT NOT NULL,
  type          TEXT NOT NULL,
  session       TEXT NOT NULL REFERENCES session (id),
  label         TEXT NOT NULL,
  description   TEXT NOT NULL,
  top_functions TEXT NOT NULL,         -- JSON array
  tags          TEXT NOT NULL,         -- each enclosed in line feeds
  created_by    TEXT NOT NULL,
  created_ms    BIGINT NOT NULL,       -- differs within service and type
  FOREIGN KEY (tenant, service) REFERENCES service (tenant, name)
    ON DELETE CASCADE
);
CREATE UNIQUE INDEX baseline_newest
  ON baseline (tenant, service, type, created_ms);
CREATE INDEX baseline_list ON baseline (tenant, created_ms, id);
CREATE INDEX baseline_of_session ON baseline (session);

-- The columns are the fields of struct baseline, in order.
CREATE VIEW baseline_row AS
SELECT b.id, b.tenant, b.service, b.type, b.session, b.label, b.description,
       b.top_functions, b.tags, b.created_by, b.created_ms,
       CASE WHEN EXISTS (SELECT 1 FROM baseline n
                         WHERE n.tenant = b.tenant AND n.service = b.service
                           AND n.type = b.type
                           AND n.created_ms > b.created_ms)
            THEN 0 ELSE 1 END AS is_latest
FROM baseline b;

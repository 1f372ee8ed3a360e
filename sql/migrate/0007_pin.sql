-- compatible: 1
-- Pinned sessions are kept, however old they are. The index lists windows
-- newest first, the coarsest for each time.

ALTER TABLE session ADD COLUMN pinned BIGINT NOT NULL DEFAULT 0;

CREATE INDEX profile_window_top ON profile_window (series, start_ms, id)
  WHERE parent = '';

-- The view gets one more column, at its end.
DROP VIEW session_row;
CREATE VIEW session_row AS
SELECT s.id, s.tenant, s.service, s.type, s.origin, s.status, s.labels,
       s.created_by, s.top_functions, s.quality,
       COALESCE(j.phase, 'done') AS phase,
       COALESCE(j.error_code, '') AS error_code,
       COALESCE(j.error_message, '') AS error_message,
       COALESCE(j.host, '') AS host,
       s.ordinal, s.asked_seconds, s.asked_rate, s.created_ms, s.started_ms,
       s.completed_ms, s.duration_ms, s.sample_count,
       COALESCE(j.cancel_requested, 0) AS cancel_requested,
       CASE WHEN EXISTS (SELECT 1 FROM blob b WHERE b.session = s.id
                         AND b.deleted_ms = 0) THEN 1 ELSE 0 END
         AS has_profile,
       s.rate, COALESCE(j.progress, 1) AS progress, s.pinned
FROM session s LEFT JOIN job j ON j.session = s.id;

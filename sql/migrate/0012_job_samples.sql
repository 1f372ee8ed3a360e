-- compatible: 1
-- The number of samples of a running capture.

ALTER TABLE job ADD COLUMN samples BIGINT NOT NULL DEFAULT 0;

-- The view is unchanged, but sample_count of a running capture is the
-- number that its worker last reported.
DROP VIEW session_row;
CREATE VIEW session_row AS
SELECT s.id, s.tenant, s.service, s.type, s.origin, s.status, s.labels,
       s.created_by, s.top_functions, s.quality,
       COALESCE(j.phase, 'done') AS phase,
       COALESCE(j.error_code, '') AS error_code,
       COALESCE(j.error_message, '') AS error_message,
       COALESCE(j.host, '') AS host,
       s.ordinal, s.asked_seconds, s.asked_rate, s.created_ms, s.started_ms,
       s.completed_ms, s.duration_ms,
       CASE WHEN s.status = 'running' AND j.samples > s.sample_count
            THEN j.samples ELSE s.sample_count END AS sample_count,
       COALESCE(j.cancel_requested, 0) AS cancel_requested,
       CASE WHEN EXISTS (SELECT 1 FROM blob b WHERE b.session = s.id
                         AND b.deleted_ms = 0) THEN 1 ELSE 0 END
         AS has_profile,
       s.rate, COALESCE(j.progress, 1) AS progress, s.pinned
FROM session s LEFT JOIN job j ON j.session = s.id;

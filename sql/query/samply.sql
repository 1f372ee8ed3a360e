-- Runs of /v0/pipelines: sessions of origin 'samply'.

-- name: samply_running
SELECT id FROM session
WHERE tenant = $1 AND service = $2 AND ordinal = $3
  AND status = 'running' AND origin = 'samply';

-- name: samply_newest
SELECT r.* FROM session_row r
WHERE r.id = (SELECT id FROM session
              WHERE tenant = $1 AND service = $2 AND ordinal = $3
                AND origin = 'samply'
              ORDER BY created_ms DESC, id DESC LIMIT 1);

-- name: samply_good
SELECT r.* FROM session_row r
WHERE r.id = (SELECT s.id FROM session s
              WHERE s.tenant = $1 AND s.service = $2 AND s.ordinal = $3
                AND s.origin = 'samply' AND s.status = 'completed'
                AND EXISTS (SELECT 1 FROM blob b WHERE b.session = s.id
                            AND b.deleted_ms = 0)
              ORDER BY s.created_ms DESC, s.id DESC LIMIT 1);

-- compatible: 23
-- Services can be matched by the containers that their processes run in. The
-- value of a match by pod, compose or label is a JSON object.
ALTER TABLE service ADD COLUMN match_by TEXT NOT NULL DEFAULT ''
  CHECK (match_by IN ('', 'unit', 'exe', 'pidFile', 'cmdline', 'container',
                      'image', 'pod', 'compose', 'label'));
UPDATE service SET match_by = match_kind;
ALTER TABLE service DROP COLUMN match_kind;
ALTER TABLE service RENAME COLUMN match_by TO match_kind;

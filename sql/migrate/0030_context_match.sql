-- compatible: 23
-- Services can be matched by the name in the context that processes publish.
ALTER TABLE service ADD COLUMN match_by TEXT NOT NULL DEFAULT ''
  CHECK (match_by IN ('', 'unit', 'exe', 'pidFile', 'cmdline', 'container',
                      'image', 'pod', 'compose', 'label', 'otelService'));
UPDATE service SET match_by = match_kind;
ALTER TABLE service DROP COLUMN match_kind;
ALTER TABLE service RENAME COLUMN match_by TO match_kind;

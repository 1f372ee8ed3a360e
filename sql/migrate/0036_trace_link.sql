-- compatible: 23
-- Where a trace of a service can be seen: a template of addresses.
ALTER TABLE service ADD COLUMN trace_link TEXT NOT NULL DEFAULT '';

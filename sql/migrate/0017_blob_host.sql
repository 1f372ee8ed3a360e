-- compatible: 16
-- The host that has a blob's bytes, which alone removes them; '': a release
-- before this one stored them.
ALTER TABLE blob ADD COLUMN host TEXT NOT NULL DEFAULT '';

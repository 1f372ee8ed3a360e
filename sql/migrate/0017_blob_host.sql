-- compatible: 16
-- The host that has a blob's bytes; only this host removes them. '': an earlier
-- release stored them.
ALTER TABLE blob ADD COLUMN host TEXT NOT NULL DEFAULT '';

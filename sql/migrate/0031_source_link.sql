-- compatible: 23
-- Where the source of a service can be read: a template of addresses.
ALTER TABLE service ADD COLUMN source_link TEXT NOT NULL DEFAULT '';

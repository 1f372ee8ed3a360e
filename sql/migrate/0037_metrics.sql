-- compatible: 23
-- Functions and packages whose share of the CPU time is a metric: a JSON array
-- of texts.
ALTER TABLE service ADD COLUMN metrics TEXT NOT NULL DEFAULT '[]';

-- compatible: 1
-- A link that signs a browser in once is a browser session that waits for its
-- cookie: until link_until_ms its hash is the link's. 0: signed in.
ALTER TABLE browser_session ADD COLUMN link_until_ms BIGINT NOT NULL DEFAULT 0;

-- compatible: 16
-- Bytes of blobs whose store is 'db'. They are compressed already.

-- dialect: sqlite
CREATE TABLE blob_bytes (
  name       TEXT PRIMARY KEY,
  created_ms BIGINT NOT NULL,
  bytes      BLOB NOT NULL
);

-- dialect: postgres
CREATE TABLE blob_bytes (
  name       TEXT PRIMARY KEY,
  created_ms BIGINT NOT NULL,
  bytes      BYTEA NOT NULL
);
ALTER TABLE blob_bytes ALTER COLUMN bytes SET STORAGE EXTERNAL;

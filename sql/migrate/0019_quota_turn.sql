-- compatible: 16
-- Transactions that use a tenant's quotas take turns at its row, if more than
-- one at a time may write.
CREATE TABLE quota_turn (
  tenant TEXT PRIMARY KEY,
  turns  BIGINT NOT NULL
);

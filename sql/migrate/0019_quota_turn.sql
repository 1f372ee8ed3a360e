-- compatible: 16
-- Transactions that use up a tenant's quotas take turns at its row, where more
-- than one may write.
CREATE TABLE quota_turn (
  tenant TEXT PRIMARY KEY,
  turns  BIGINT NOT NULL
);

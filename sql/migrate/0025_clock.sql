-- compatible: 23
-- Deletion by age does not trust a clock that has jumped.

-- The database's clock when it was last checked, and until when nothing is
-- deleted by age because the clock went forward by more than a day between two
-- checks.
CREATE TABLE retention_clock (
  id      BIGINT PRIMARY KEY CHECK (id = 1),
  seen_ms BIGINT NOT NULL,
  held_ms BIGINT NOT NULL              -- 0: nothing is held
);

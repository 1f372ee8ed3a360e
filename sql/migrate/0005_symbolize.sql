-- compatible: 1
-- Requests to symbolize stored profiles again, served by the worker of the
-- host that captured them; each session has one row, for its latest
-- request.

CREATE TABLE symbolize (
  session  TEXT PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE,
  host     TEXT NOT NULL,
  state    TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done',
                                          'failed')),
  error    TEXT NOT NULL,
  attempt  BIGINT NOT NULL,            -- never reused
  tries    BIGINT NOT NULL,            -- since the request
  asked_ms BIGINT NOT NULL,
  ended_ms BIGINT NOT NULL             -- 0: not ended
);
CREATE INDEX symbolize_queue ON symbolize (host, state, asked_ms);

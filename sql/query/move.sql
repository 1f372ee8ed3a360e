-- Moves a store to another database (store/move.h): reads all columns of
-- SQLite's rows in the order in which they are stored, and writes the rows
-- from a JSON list.

-- name: move_counts
SELECT 'service' AS name, COUNT(*) AS n FROM service
UNION ALL SELECT 'token' AS name, COUNT(*) AS n FROM token
UNION ALL SELECT 'session' AS name, COUNT(*) AS n FROM session
UNION ALL SELECT 'job' AS name, COUNT(*) AS n FROM job
UNION ALL SELECT 'blob' AS name, COUNT(*) AS n FROM blob WHERE deleted_ms = 0
UNION ALL SELECT 'idempotency' AS name, COUNT(*) AS n FROM idempotency
UNION ALL SELECT 'audit' AS name, COUNT(*) AS n FROM audit
UNION ALL SELECT 'link_key' AS name, COUNT(*) AS n FROM link_key
UNION ALL SELECT 'baseline' AS name, COUNT(*) AS n FROM baseline
UNION ALL SELECT 'continuous' AS name, COUNT(*) AS n FROM continuous
UNION ALL SELECT 'series' AS name, COUNT(*) AS n FROM series
UNION ALL SELECT 'profile_window' AS name, COUNT(*) AS n FROM profile_window
UNION ALL SELECT 'symbolize' AS name, COUNT(*) AS n FROM symbolize
UNION ALL SELECT 'continuous_problem' AS name, COUNT(*) AS n FROM continuous_problem
UNION ALL SELECT 'trigger_rule' AS name, COUNT(*) AS n FROM trigger_rule
UNION ALL SELECT 'trigger_firing' AS name, COUNT(*) AS n FROM trigger_firing
UNION ALL SELECT 'browser_session' AS name, COUNT(*) AS n FROM browser_session
UNION ALL SELECT 'capture_start' AS name, COUNT(*) AS n FROM capture_start
UNION ALL SELECT 'quota_turn' AS name, COUNT(*) AS n FROM quota_turn
UNION ALL SELECT 'block' AS name, COUNT(*) AS n FROM block
UNION ALL SELECT 'block_cursor' AS name, COUNT(*) AS n FROM block_cursor
UNION ALL SELECT 'block_usage' AS name, COUNT(*) AS n FROM block_usage
UNION ALL SELECT 'block_pin' AS name, COUNT(*) AS n FROM block_pin
UNION ALL SELECT 'unnamed_module' AS name, COUNT(*) AS n FROM unnamed_module
UNION ALL SELECT 'unnamed_frame' AS name, COUNT(*) AS n FROM unnamed_frame
UNION ALL SELECT 'debug_file' AS name, COUNT(*) AS n FROM debug_file
UNION ALL SELECT 'session_build' AS name, COUNT(*) AS n FROM session_build
UNION ALL SELECT 'run' AS name, COUNT(*) AS n FROM run
UNION ALL SELECT 'host_sum' AS name, COUNT(*) AS n FROM host_sum
UNION ALL SELECT 'discovered' AS name, COUNT(*) AS n FROM discovered;

-- Above 0 in the store of a fleet's host, which works for its centre.
-- name: move_hosts_own
SELECT COUNT(*) FROM agent_service;

-- name: move_service
SELECT t.rowid AS row_of_sqlite, t.* FROM service t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_service
-- dialect: postgres
INSERT INTO service
SELECT * FROM json_populate_recordset(CAST(NULL AS service), CAST($1 AS json));

-- name: move_token
SELECT t.rowid AS row_of_sqlite, t.* FROM token t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_token
-- dialect: postgres
INSERT INTO token
SELECT * FROM json_populate_recordset(CAST(NULL AS token), CAST($1 AS json));

-- name: move_session
SELECT t.rowid AS row_of_sqlite, t.* FROM session t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_session
-- dialect: postgres
INSERT INTO session
SELECT * FROM json_populate_recordset(CAST(NULL AS session), CAST($1 AS json));

-- name: move_job
SELECT t.rowid AS row_of_sqlite, t.* FROM job t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_job
-- dialect: postgres
INSERT INTO job
SELECT * FROM json_populate_recordset(CAST(NULL AS job), CAST($1 AS json));

-- name: move_blob
SELECT t.rowid AS row_of_sqlite, t.* FROM blob t
WHERE t.rowid > $1 AND t.deleted_ms = 0 ORDER BY t.rowid LIMIT 500;
-- name: move_blob
-- dialect: postgres
INSERT INTO blob
SELECT * FROM json_populate_recordset(CAST(NULL AS blob), CAST($1 AS json));

-- name: move_idempotency
SELECT t.rowid AS row_of_sqlite, t.* FROM idempotency t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_idempotency
-- dialect: postgres
INSERT INTO idempotency
SELECT * FROM json_populate_recordset(CAST(NULL AS idempotency), CAST($1 AS json));

-- name: move_audit
SELECT t.rowid AS row_of_sqlite, t.* FROM audit t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_audit
-- dialect: postgres
INSERT INTO audit
SELECT * FROM json_populate_recordset(CAST(NULL AS audit), CAST($1 AS json));

-- name: move_link_key
SELECT t.rowid AS row_of_sqlite, t.* FROM link_key t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_link_key
-- dialect: postgres
INSERT INTO link_key
SELECT * FROM json_populate_recordset(CAST(NULL AS link_key), CAST($1 AS json));

-- name: move_baseline
SELECT t.rowid AS row_of_sqlite, t.* FROM baseline t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_baseline
-- dialect: postgres
INSERT INTO baseline
SELECT * FROM json_populate_recordset(CAST(NULL AS baseline), CAST($1 AS json));

-- name: move_continuous
SELECT t.rowid AS row_of_sqlite, t.* FROM continuous t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_continuous
-- dialect: postgres
INSERT INTO continuous
SELECT * FROM json_populate_recordset(CAST(NULL AS continuous), CAST($1 AS json));

-- name: move_series
SELECT t.rowid AS row_of_sqlite, t.* FROM series t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_series
-- dialect: postgres
INSERT INTO series
SELECT * FROM json_populate_recordset(CAST(NULL AS series), CAST($1 AS json));

-- name: move_profile_window
SELECT t.rowid AS row_of_sqlite, t.* FROM profile_window t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_profile_window
-- dialect: postgres
INSERT INTO profile_window
SELECT * FROM json_populate_recordset(CAST(NULL AS profile_window), CAST($1 AS json));

-- name: move_symbolize
SELECT t.rowid AS row_of_sqlite, t.* FROM symbolize t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_symbolize
-- dialect: postgres
INSERT INTO symbolize
SELECT * FROM json_populate_recordset(CAST(NULL AS symbolize), CAST($1 AS json));

-- name: move_continuous_problem
SELECT t.rowid AS row_of_sqlite, t.* FROM continuous_problem t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_continuous_problem
-- dialect: postgres
INSERT INTO continuous_problem
SELECT * FROM json_populate_recordset(CAST(NULL AS continuous_problem), CAST($1 AS json));

-- name: move_trigger_rule
SELECT t.rowid AS row_of_sqlite, t.* FROM trigger_rule t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_trigger_rule
-- dialect: postgres
INSERT INTO trigger_rule
SELECT * FROM json_populate_recordset(CAST(NULL AS trigger_rule), CAST($1 AS json));

-- name: move_trigger_firing
SELECT t.rowid AS row_of_sqlite, t.* FROM trigger_firing t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_trigger_firing
-- dialect: postgres
INSERT INTO trigger_firing
SELECT * FROM json_populate_recordset(CAST(NULL AS trigger_firing), CAST($1 AS json));

-- name: move_browser_session
SELECT t.rowid AS row_of_sqlite, t.* FROM browser_session t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_browser_session
-- dialect: postgres
INSERT INTO browser_session
SELECT * FROM json_populate_recordset(CAST(NULL AS browser_session), CAST($1 AS json));

-- name: move_capture_start
SELECT t.rowid AS row_of_sqlite, t.* FROM capture_start t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_capture_start
-- dialect: postgres
INSERT INTO capture_start
SELECT * FROM json_populate_recordset(CAST(NULL AS capture_start), CAST($1 AS json));

-- name: move_quota_turn
SELECT t.rowid AS row_of_sqlite, t.* FROM quota_turn t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_quota_turn
-- dialect: postgres
INSERT INTO quota_turn
SELECT * FROM json_populate_recordset(CAST(NULL AS quota_turn), CAST($1 AS json));

-- name: move_block
SELECT t.rowid AS row_of_sqlite, t.* FROM block t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_block
-- dialect: postgres
INSERT INTO block
SELECT * FROM json_populate_recordset(CAST(NULL AS block), CAST($1 AS json));

-- name: move_block_cursor
SELECT t.rowid AS row_of_sqlite, t.* FROM block_cursor t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_block_cursor
-- dialect: postgres
INSERT INTO block_cursor
SELECT * FROM json_populate_recordset(CAST(NULL AS block_cursor), CAST($1 AS json));

-- name: move_block_usage
SELECT t.rowid AS row_of_sqlite, t.* FROM block_usage t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_block_usage
-- dialect: postgres
INSERT INTO block_usage
SELECT * FROM json_populate_recordset(CAST(NULL AS block_usage), CAST($1 AS json));

-- name: move_block_pin
SELECT t.rowid AS row_of_sqlite, t.* FROM block_pin t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_block_pin
-- dialect: postgres
INSERT INTO block_pin
SELECT * FROM json_populate_recordset(CAST(NULL AS block_pin), CAST($1 AS json));

-- name: move_debug_file
SELECT t.rowid AS row_of_sqlite, t.* FROM debug_file t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_debug_file
-- dialect: postgres
INSERT INTO debug_file
SELECT * FROM json_populate_recordset(CAST(NULL AS debug_file), CAST($1 AS json));

-- name: move_session_build
SELECT t.rowid AS row_of_sqlite, t.* FROM session_build t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_session_build
-- dialect: postgres
INSERT INTO session_build
SELECT * FROM json_populate_recordset(CAST(NULL AS session_build), CAST($1 AS json));

-- name: move_run
SELECT t.rowid AS row_of_sqlite, t.* FROM run t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_run
-- dialect: postgres
INSERT INTO run
SELECT * FROM json_populate_recordset(CAST(NULL AS run), CAST($1 AS json));

-- name: move_host_sum
SELECT t.rowid AS row_of_sqlite, t.* FROM host_sum t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_host_sum
-- dialect: postgres
INSERT INTO host_sum
SELECT * FROM json_populate_recordset(CAST(NULL AS host_sum), CAST($1 AS json));

-- name: move_discovered
SELECT t.rowid AS row_of_sqlite, t.* FROM discovered t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_discovered
-- dialect: postgres
INSERT INTO discovered
SELECT * FROM json_populate_recordset(CAST(NULL AS discovered), CAST($1 AS json));

-- name: move_unnamed_module
SELECT t.rowid AS row_of_sqlite, t.* FROM unnamed_module t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_unnamed_module
-- dialect: postgres
INSERT INTO unnamed_module
SELECT * FROM json_populate_recordset(CAST(NULL AS unnamed_module), CAST($1 AS json));

-- name: move_unnamed_frame
SELECT t.rowid AS row_of_sqlite, t.* FROM unnamed_frame t
WHERE t.rowid > $1 ORDER BY t.rowid LIMIT 500;
-- name: move_unnamed_frame
-- dialect: postgres
INSERT INTO unnamed_frame
SELECT * FROM json_populate_recordset(CAST(NULL AS unnamed_frame), CAST($1 AS json));

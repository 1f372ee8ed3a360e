/*
 * The driver of PostgreSQL: one connection by libpq. Statements are prepared at
 * first use. All rows are read at once, so that a reader holds no lock.
 */
#include "base/clock.h"
#include "db_test.h"
#include "driver.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <postgresql/libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define NUMBER_MAX   32
#define PARAMS_MAX   24
#define PAUSE_MIN_NS 1000000 /* before an aborted statement is repeated */
#define PAUSE_NS     20000000
#define RETRY_NS     NS_PER_S /* between two tries to connect */
#define CHANNEL_MAX  64       /* NAMEDATALEN */
#define STALE        "0A000"  /* "cached plan must not change result type" */

struct postgres {
	struct db db;
	PGconn *conn;
	bool prepared[SQL_COUNT];
	bool stale; /* a migration has changed columns of statements */
	bool listens;
	bool wrote; /* this transaction has written */
	bool late;  /* the last answer did not come in time */
	char channel[CHANNEL_MAX];
	int changes;
	int64_t version;    /* result of db_data_version() */
	int64_t version_ns; /* when version was last raised */
	int64_t retry_ns;   /* when to connect again */
	bool others;        /* others have committed since db_woken() */
	uint32_t jitter;
};

static struct postgres *
postgres_of(struct db *db)
{
	assert(db->driver == &db_postgres);
	return (struct postgres *)(void *)db;
}

/* --- failures ------------------------------------------------------------- */

/*
 * Turns an SQLSTATE into an errno, by the longest row that it begins with.
 *   Source   postgresql.org/docs/15/errcodes-appendix.html
 */
static int
state_errno(const char *state)
{
	static const struct {
		const char *prefix;
		int rc;
	} rows[] = {
		{STALE, -EBUSY},
		{"22021", -EILSEQ},
		{"22", -EINVAL},
		{"23503", -EEXIST}, /* foreign key */
		{"23505", -EEXIST}, /* unique key */
		{"23", -EINVAL},
		{"25006", -EROFS},
		{"40", -EBUSY}, /* serialization, deadlock */
		{"42501", -EACCES},
		{"42710", -EEXIST}, /* objects that are there already */
		{"42723", -EEXIST},
		{"42P06", -EEXIST},
		{"42P07", -EEXIST},
		{"53100", -ENOSPC},
		{"53200", -ENOMEM},
		{"55P03", -EBUSY}, /* lock_timeout */
		{"57014", -EBUSY}, /* statement_timeout */
		{"XX001", -EBADMSG},
		{"XX002", -EBADMSG},
	};

	for (size_t i = 0; state && i < ARRAY_LEN(rows); i++)
		if (!strncmp(state, rows[i].prefix, strlen(rows[i].prefix)))
			return rows[i].rc;
	return -EIO;
}

/* Keeps the first line of a message for db_why(). */
static void
say(struct db *db, const char *message)
{
	const char *s = message ? message : "no message";

	snprintf(db->why, sizeof(db->why), "%.*s", (int)strcspn(s, "\n"), s);
}

static bool
failed(const PGresult *r)
{
	ExecStatusType status = PQresultStatus(r);

	return status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK;
}

/* Returns the errno of a result. Frees a failed result, or any if out is
 * NULL. */
static int
taken(struct postgres *p, PGresult *r, PGresult **out)
{
	const char *state;
	int rc;

	if (!failed(r)) {
		if (out)
			*out = r;
		else
			PQclear(r);
		return 0;
	}
	state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
	say(&p->db, state     ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY)
	            : p->late ? "the server has not answered in time"
	                      : PQerrorMessage(p->conn));
	p->stale |= state && !strcmp(state, STALE);
	rc = state_errno(state);
	PQclear(r);
	return rc;
}

/* --- answers -------------------------------------------------------------- */

int64_t db_answer_max_ns = 60 * NS_PER_S;

/* Waits until part of the answer can be read. Hangs up on a server that does
 * not answer in time, so that this process does not wait for ever. */
static void
await(struct postgres *p, int64_t end_ns)
{
	for (;;) {
		struct pollfd fd = {PQsocket(p->conn), POLLIN, 0};
		int64_t left_ms = (end_ns - clock_mono_ns()) / NS_PER_MS;
		int unsent = PQflush(p->conn);

		if (unsent < 0 || (!unsent && !PQisBusy(p->conn)))
			return;
		if (unsent)
			fd.events |= POLLOUT;
		p->late = left_ms <= 0;
		if (p->late)
			shutdown(fd.fd, SHUT_RDWR);
		else if (poll(&fd, 1,
		              left_ms < INT_MAX ? (int)left_ms : INT_MAX) < 0)
			continue;
		if (!PQconsumeInput(p->conn))
			return;
	}
}

static bool
copies(const PGresult *r)
{
	ExecStatusType status = PQresultStatus(r);

	return status == PGRES_COPY_IN || status == PGRES_COPY_OUT ||
	       status == PGRES_COPY_BOTH;
}

/* Returns when a statement that begins now must have its answer. */
static int64_t
end_of(const struct postgres *p, int64_t max_ns)
{
	int64_t now_ns = clock_mono_ns(), late_ns;
	int64_t end_ns = max_ns < INT64_MAX - now_ns ? now_ns + max_ns
	                                             : INT64_MAX;

	if (!p->db.until_ns || end_ns <= p->db.until_ns)
		return end_ns;
	late_ns = now_ns + DB_LATE_MS * NS_PER_MS;
	return p->db.until_ns > late_ns ? p->db.until_ns : late_ns;
}

/* Returns the last result of what was sent, or the first that failed; NULL if
 * there is none. No statement uses COPY, so if the server begins one, the
 * connection is cut. */
static PGresult *
answer(struct postgres *p, int sent, int64_t max_ns)
{
	int64_t end_ns = end_of(p, max_ns);
	PGresult *last = NULL, *r;

	p->late = false;
	while (sent) {
		await(p, end_ns);
		r = PQgetResult(p->conn);
		if (!r)
			break;
		if (copies(r)) {
			shutdown(PQsocket(p->conn), SHUT_RDWR);
			(void)!PQconsumeInput(p->conn);
			sent = 0;
		}
		if (last && failed(last)) {
			PQclear(r);
		} else {
			PQclear(last);
			last = r;
		}
	}
	return last;
}

static int
ask(struct postgres *p, const char *sql)
{
	return taken(p, answer(p, PQsendQuery(p->conn, sql), db_answer_max_ns),
	             NULL);
}

/* A migration may take any time. */
static int
text(struct db *db, const char *sql)
{
	struct postgres *p = postgres_of(db);

	return taken(p, answer(p, PQsendQuery(p->conn, sql), INT64_MAX), NULL);
}

/* --- the connection ------------------------------------------------------- */

/* Returns "" for a value that the result lacks: the server may have been
 * replaced, or be a proxy. */
static const char *
value(const PGresult *r, int row, int column)
{
	const char *s = PQgetvalue(r, row, column);

	return s ? s : "";
}

static void
hush(void *arg, const PGresult *r)
{
	(void)arg, (void)r;
}

static int run_once(struct postgres *p, enum sql sql, const struct db_value *v,
                    size_t n, PGresult **out);

/* Refuses databases whose collation orders texts differently from cursors. */
static int
check_place(struct postgres *p)
{
	const char *encoding = PQparameterStatus(p->conn, "server_encoding");
	PGresult *r = NULL;
	int rc = run_once(p, SQL_SCHEMA_PLACE, NO_ARGS, &r);

	if (rc)
		return rc;
	snprintf(p->channel, sizeof(p->channel), "stoker.%s", value(r, 0, 0));
	if (!encoding || strcmp(encoding, "UTF8") ||
	    strcmp(value(r, 0, 1), "1")) {
		say(&p->db, "the database must have encoding UTF8 and "
		            "collation C or C.UTF-8: createdb "
		            "--template=template0 --encoding=UTF8 "
		            "--locale=C.UTF-8");
		rc = -EDOM;
	}
	PQclear(r);
	return rc;
}

/* Runs a command with the channel as its operand, followed by more text. */
static int
with_channel(struct postgres *p, const char *command, const char *rest)
{
	char *quoted =
		PQescapeIdentifier(p->conn, p->channel, strlen(p->channel));
	char sql[4 * CHANNEL_MAX];

	if (!quoted)
		return -ENOMEM;
	snprintf(sql, sizeof(sql), "%s %s%s", command, quoted, rest);
	PQfreemem(quoted);
	return ask(p, sql);
}

/* Sets up a new connection. A server without LISTEN is polled more often. */
static int
set_up(struct postgres *p)
{
	static const char settings[] =
		"SET default_transaction_isolation = 'read committed';"
		"SET idle_in_transaction_session_timeout = '30s';"
		"SET lock_timeout = '5s'"; /* DB_BUSY_MAX_MS */
	int rc;

	memset(p->prepared, 0, sizeof(p->prepared));
	p->stale = false;
	p->version++;
	p->others = true;
	if (PQstatus(p->conn) != CONNECTION_OK) {
		say(&p->db, PQerrorMessage(p->conn));
		return -EIO;
	}
	PQsetNoticeReceiver(p->conn, hush, NULL);
	if (PQsetnonblocking(p->conn, 1))
		return -ENOMEM;
	rc = ask(p, settings) ?: check_place(p);
	if (!rc && p->db.look)
		rc = ask(p, "SET default_transaction_read_only = on");
	if (!rc)
		p->listens = !with_channel(p, "LISTEN", "");
	return rc;
}

/* Has statements prepared again: the server refuses them after a migration has
 * changed their columns. */
static int
forget_statements(struct postgres *p)
{
	int rc = ask(p, "DEALLOCATE ALL");

	if (rc)
		return rc;
	memset(p->prepared, 0, sizeof(p->prepared));
	p->stale = false;
	return 0;
}

/* Reconnects if the server has closed the connection, for example at a
 * restart, unless the caller's time is up. Call it only between
 * transactions. */
static int
ensure(struct postgres *p)
{
	int64_t now_ns;
	int rc;

	if (PQconsumeInput(p->conn) && PQstatus(p->conn) == CONNECTION_OK)
		return p->stale ? forget_statements(p) : 0;
	now_ns = clock_mono_ns();
	if (now_ns < p->retry_ns ||
	    (p->db.until_ns && now_ns >= p->db.until_ns)) {
		say(&p->db, "the connection to the server is lost");
		return -EIO;
	}
	p->retry_ns = now_ns + RETRY_NS;
	PQreset(p->conn);
	rc = set_up(p);
	if (!rc)
		p->retry_ns = 0;
	return rc;
}

static int
reconnect(struct db *db)
{
	return ensure(postgres_of(db));
}

static void
close_link(struct db *db)
{
	struct postgres *p = postgres_of(db);

	PQfinish(p->conn);
	free(db->name);
	free(p);
}

/* The wait for a lost host is no longer than the wait for a lock. The URL
 * overrides the first four settings, but not the encoding. */
static PGconn *
connect_to(const char *url)
{
	const char *const names[] = {"connect_timeout",
	                             "tcp_user_timeout",
	                             "keepalives_idle",
	                             "fallback_application_name",
	                             "dbname",
	                             "client_encoding",
	                             NULL};
	const char *const values[] = {"5", "10000", "10", "stoker",
	                              url, "UTF8",  NULL};

	return PQconnectdbParams(names, values, 1);
}

static int
open_link(const struct db_options *o, struct db **out)
{
	struct postgres *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->db.driver = &db_postgres;
	p->db.look = o->look;
	*out = &p->db;
	p->conn = connect_to(o->url);
	p->jitter = (uint32_t)clock_mono_ns();
	if (!p->conn)
		return -ENOMEM;
	if (asprintf(&p->db.name, "the database %s of %s", PQdb(p->conn) ?: "",
	             PQhost(p->conn) ?: "") < 0) {
		p->db.name = NULL;
		return -ENOMEM;
	}
	return set_up(p);
}

/* --- transactions --------------------------------------------------------- */

static int
begin(struct db *db)
{
	struct postgres *p = postgres_of(db);

	p->wrote = false;
	return ensure(p) ?: ask(p, "BEGIN");
}

static bool
is_lost(struct db *db)
{
	return PQtransactionStatus(postgres_of(db)->conn) != PQTRANS_INTRANS;
}

static int
commit(struct db *db)
{
	struct postgres *p = postgres_of(db);

	return p->wrote && p->listens ? with_channel(p, "NOTIFY", ";COMMIT")
	                              : ask(p, "COMMIT");
}

static void
abandon(struct db *db)
{
	struct postgres *p = postgres_of(db);
	char why[sizeof(db->why)];

	if (PQtransactionStatus(p->conn) == PQTRANS_IDLE)
		return;
	memcpy(why, db->why, sizeof(why));
	(void)!ask(p, "ROLLBACK");
	memcpy(db->why, why, sizeof(why));
}

/* --- statements ----------------------------------------------------------- */

static int
prepare(struct postgres *p, enum sql sql)
{
	const struct sql_query *q = &sql_queries[sql];
	int rc = 0;

	if (!p->prepared[sql])
		rc = taken(p,
		           answer(p,
		                  PQsendPrepare(p->conn, q->name,
		                                q->text[SQL_POSTGRES], 0, NULL),
		                  db_answer_max_ns),
		           NULL);
	p->prepared[sql] = !rc;
	return rc;
}

static const char *
text_of(const struct db_value *v, char room[static NUMBER_MAX])
{
	switch (v->kind) {
	case DB_TEXT:
	case DB_BYTES:
		return v->s;
	case DB_INT:
		snprintf(room, NUMBER_MAX, "%lld", (long long)v->i);
		break;
	case DB_REAL:
		snprintf(room, NUMBER_MAX, "%.17g", v->r);
		break;
	}
	return room;
}

static int
run_once(struct postgres *p, enum sql sql, const struct db_value *v, size_t n,
         PGresult **out)
{
	char numbers[PARAMS_MAX][NUMBER_MAX];
	const char *values[PARAMS_MAX];
	int lengths[PARAMS_MAX], binary[PARAMS_MAX];
	int rc = prepare(p, sql);

	assert(n <= PARAMS_MAX);
	for (size_t i = 0; i < n; i++) {
		values[i] = text_of(&v[i], numbers[i]);
		binary[i] = v[i].kind == DB_BYTES;
		lengths[i] = binary[i] ? (int)v[i].i : 0;
		if (binary[i] && v[i].i > INT_MAX)
			return -EFBIG;
	}
	return rc
	               ?: taken(p,
	                        answer(p,
	                               PQsendQueryPrepared(
					       p->conn, sql_queries[sql].name,
					       (int)n, values, lengths, binary,
					       0),
	                               db_answer_max_ns),
	                        out);
}

/* Waits for a random time before an aborted statement is repeated. */
static void
pause_shortly(struct postgres *p)
{
	struct timespec t = {0};

	p->jitter = p->jitter * 1664525u + 1013904223u; /* Knuth's LCG */
	t.tv_nsec = PAUSE_MIN_NS + (p->jitter >> 4) % PAUSE_NS;
	nanosleep(&t, NULL);
}

/* Outside a transaction, a statement is its own transaction, so only this
 * function can repeat it. */
static int
run_alone(struct postgres *p, enum sql sql, const struct db_value *v, size_t n,
          PGresult **out)
{
	int64_t end_ns = clock_mono_ns() + DB_BUSY_MAX_MS * NS_PER_MS;
	int rc = ensure(p) ?: run_once(p, sql, v, n, out);

	while (rc == -EBUSY && clock_mono_ns() < end_ns) {
		pause_shortly(p);
		rc = ensure(p) ?: run_once(p, sql, v, n, out);
	}
	return rc;
}

static int
query(struct db *db, enum sql sql, const struct db_value *v, size_t n,
      struct db_rows *out)
{
	struct postgres *p = postgres_of(db);
	PGresult *r = NULL;
	int rc = db->depth ? run_once(p, sql, v, n, &r)
	                   : run_alone(p, sql, v, n, &r);

	if (rc)
		return rc;
	p->changes = atoi(PQcmdTuples(r));
	p->wrote |= p->changes && strncmp(PQcmdStatus(r), "SELECT", 6) != 0;
	*out = (struct db_rows){.db = db, .stmt = r, .row = -1};
	return 0;
}

static int
next(struct db_rows *rows)
{
	if (++rows->row < PQntuples(rows->stmt))
		return 1;
	db_finish(rows);
	return 0;
}

static void
finish(struct db_rows *rows)
{
	PQclear(rows->stmt);
}

static int
changes(struct db *db)
{
	return postgres_of(db)->changes;
}

static void
announce(struct db *db)
{
	struct postgres *p = postgres_of(db);

	if (p->wrote && p->listens)
		(void)!with_channel(p, "NOTIFY", "");
	p->wrote = false;
}

static const char *
col_text(const struct db_rows *rows, int column)
{
	return value(rows->stmt, rows->row, column);
}

static int64_t
col_int(const struct db_rows *rows, int column)
{
	return strtoll(col_text(rows, column), NULL, 10);
}

static double
col_real(const struct db_rows *rows, int column)
{
	return strtod(col_text(rows, column), NULL);
}

/* The server sends bytes as hexadecimal text. */
static int
col_bytes(const struct db_rows *rows, int column, struct buf *out)
{
	size_t n = 0;
	unsigned char *p = PQunescapeBytea(
		(const unsigned char *)col_text(rows, column), &n);

	if (!p)
		return -ENOMEM;
	buf_add(out, p, n);
	PQfreemem(p);
	return buf_err(out);
}

static const char *
col_name(const struct db_rows *rows, int column)
{
	return PQfname(rows->stmt, column);
}

/* --- changes and upkeep --------------------------------------------------- */

/* Reads the notifications that have arrived. */
static void
hear(struct postgres *p)
{
	PGnotify *n;

	(void)!PQconsumeInput(p->conn);
	while ((n = PQnotifies(p->conn))) {
		if (n->be_pid != PQbackendPID(p->conn)) {
			p->version++;
			p->others = true;
		}
		PQfreemem(n);
	}
}

static int64_t
data_version(struct db *db)
{
	struct postgres *p = postgres_of(db);
	int64_t now_ns = clock_mono_ns();

	hear(p);
	if (!p->listens && now_ns - p->version_ns >= DB_LOOK_MS * NS_PER_MS) {
		p->version_ns = now_ns;
		p->version++;
	}
	return p->version;
}

static int
wake_fd(struct db *db)
{
	return PQsocket(postgres_of(db)->conn);
}

static bool
woken(struct db *db)
{
	struct postgres *p = postgres_of(db);
	bool any;

	hear(p);
	any = p->others;
	p->others = false;
	return any;
}

/* PostgreSQL maintains itself (autovacuum). */
static int
upkeep(struct db *db)
{
	(void)db;
	return 0;
}

/* Has an effect only if a test has replaced now_ms(). */
static void
skew_clock(struct db *db, int64_t ms)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "SET stoker.skew = %lld", (long long)ms);
	(void)!ask(postgres_of(db), sql);
}

const struct db_driver db_postgres = {
	.dialect = SQL_POSTGRES,
	.open = open_link,
	.close = close_link,
	.refresh = reconnect,
	.text = text,
	.begin = begin,
	.commit = commit,
	.abandon = abandon,
	.is_lost = is_lost,
	.query = query,
	.next = next,
	.finish = finish,
	.changes = changes,
	.announce = announce,
	.col_text = col_text,
	.col_int = col_int,
	.col_real = col_real,
	.col_bytes = col_bytes,
	.col_name = col_name,
	.data_version = data_version,
	.wake_fd = wake_fd,
	.woken = woken,
	.upkeep = upkeep,
	.skew_clock = skew_clock,
};

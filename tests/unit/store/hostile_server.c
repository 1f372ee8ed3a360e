/*
 * A database server that lies can neither crash a process nor make it wait for
 * ever. The server here speaks just enough of PostgreSQL's protocol to be
 * believed.
 * On SQLite alone: the test is a server itself.
 *   Source   postgresql.org/docs/15/protocol-message-formats.html
 */
#include "store/db/db.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "lib/store.h"
#include "store/db/db_test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MAX_NS (300 * NS_PER_MS)

/* The server's answer to the nth statement that has rows, and later ones. */
struct lies {
	int from;      /* statements before this one are answered correctly */
	const char *p; /* messages; NULL: silence */
	size_t n;
};
#define LIES(nth, text)                     \
	{                                   \
		nth, text, sizeof(text) - 1 \
	}

/* Rows that look like names and a C collation, as SCHEMA_PLACE expects them. */
#define TWO_TEXTS                                               \
	"T\0\0\0\x2e\0\x02"                                     \
	"a\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0" \
	"b\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0"
#define NO_TEXT  "T\0\0\0\x06\0\0"
#define SELECTED "C\0\0\0\x0dSELECT 1\0"
#define PLACE                                              \
	TWO_TEXTS "D\0\0\0\x10\0\x02\0\0\0\x01x\0\0\0\x01" \
		  "1" SELECTED

static void
put(int fd, const char *p, size_t n)
{
	if (fd_write_all(fd, p, n))
		_exit(0);
}
#define PUT(fd, text) put(fd, text, sizeof(text) - 1)

static void
get(int fd, void *p, size_t n)
{
	if (n && recv(fd, p, n, MSG_WAITALL) != (ssize_t)n)
		_exit(0);
}

/* Reads a message except its type; returns its length. */
static uint32_t
get_rest(int fd)
{
	static char room[1 << 16];
	uint32_t n;

	get(fd, &n, sizeof(n));
	n = __builtin_bswap32(n) - (uint32_t)sizeof(n);
	if (n > sizeof(room))
		_exit(0);
	get(fd, room, n);
	return n;
}

static void
answer(int fd, const struct lies *l, int nth)
{
	if (nth < l->from)
		PUT(fd, PLACE);
	else if (!l->p)
		pause();
	else
		put(fd, l->p, l->n);
}

/* Serves one connection. */
static void
converse(int fd, const struct lies *l)
{
	int nth = 0;
	char type;

	get_rest(fd); /* the startup message */
	PUT(fd, "R\0\0\0\x08\0\0\0\0");
	PUT(fd, "S\0\0\0\x19server_encoding\0UTF8\0");
	PUT(fd, "Z\0\0\0\x05I");
	for (;;) {
		get(fd, &type, 1);
		get_rest(fd);
		if (type == 'P')
			PUT(fd, "1\0\0\0\x04");
		else if (type == 'B')
			PUT(fd, "2\0\0\0\x04");
		else if (type == 'E')
			answer(fd, l, nth++);
		else if (type == 'Q')
			PUT(fd, "C\0\0\0\x08SET\0");
		if (type == 'Q' || type == 'S')
			PUT(fd, "Z\0\0\0\x05I");
	}
}

static pid_t
start(const char *dir, const struct lies *l)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t pid;

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/.s.PGSQL.5432", dir);
	unlink(a.sun_path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	ck_assert_int_eq(listen(fd, 4), 0);
	pid = fork();
	if (!pid)
		converse(accept(fd, NULL, NULL), l);
	close(fd);
	return pid;
}

/* Opens a database of such a server, which may succeed but must return. */
static int
open_with(const struct lies *l)
{
	CLEANUP_BUF struct buf url = BUF_INIT(256), why = BUF_INIT(1024);
	char dir[] = "/tmp/stoker-hostile-XXXXXX";
	struct db *db = NULL;
	pid_t pid;
	int rc;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	pid = start(dir, l);
	buf_addf(&url, "postgresql:///x?host=%s&user=x", dir);
	db_answer_max_ns = ANSWER_MAX_NS;
	rc = db_open(&(struct db_options){.url = buf_str(&url), .look = true},
	             &db, &why);
	if (rc)
		ck_assert_uint_gt(why.len, 0);
	db_close(db);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	test_remove(dir);
	return rc;
}

static const struct {
	const char *name;
	struct lies lies;
} rows[] = {
	{"no row of the place", LIES(0, TWO_TEXTS SELECTED)},
	{"no column of the place", LIES(0, NO_TEXT "D\0\0\0\x06\0\0" SELECTED)},
	{"nothing of the place",
         LIES(0, TWO_TEXTS
              "D\0\0\0\x0e\0\x02\xff\xff\xff\xff\xff\xff\xff\xff" SELECTED)},
	{"no column of the rest", LIES(1, NO_TEXT "D\0\0\0\x06\0\0" SELECTED)},
	{"nothing of the rest",
         LIES(1, TWO_TEXTS
              "D\0\0\0\x0e\0\x02\xff\xff\xff\xff\xff\xff\xff\xff" SELECTED)},
	{"an error without words", LIES(0, "E\0\0\0\x0c"
                                           "C40002\0\0")},
	{"an error of nothing", LIES(0, "E\0\0\0\x05\0")},
	{"a command that is none", LIES(1, "C\0\0\0\x05\0")},
	{"a copy to the server", LIES(0, "G\0\0\0\x07\0\0\0")},
	{"a copy from the server", LIES(0, "H\0\0\0\x07\0\0\0")},
	{"a copy both ways", LIES(1, "W\0\0\0\x07\0\0\0")},
	{"an unknown message", LIES(0, "?\0\0\0\x04")},
	{"a message without an end", LIES(0, "D\x7f\xff\xff\xff")},
	{"a message of negative length", LIES(0, "D\xff\xff\xff\xff")},
	{"silence at first", {0, NULL, 0}},
	{"silence later", {1, NULL, 0}},
};

TEST(a_server_that_answers_nonsense_ends_nothing)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t began_ns = clock_mono_ns();
		int rc = open_with(&rows[i].lies);

		ck_assert_msg(rc < 0, "%s: %d", rows[i].name, rc);
		/* each of a few statements may take the time */
		ck_assert_msg(clock_mono_ns() - began_ns < 20 * NS_PER_S, "%s",
		              rows[i].name);
	}
}
END

SUITE("hostile_server", .seconds = 120);

/*
 * Moving a store takes all tables along, except those listed as staying behind.
 * tests/e2e/move.sh moves one.
 * On SQLite alone, which is where stores move from.
 */
#include "store/move.h"

#include "lib/store.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const known[] = {
#define MOVED(name, NAME) #name,
#define LEFT(name)        #name,
#include "store/backup/moved.def"
#undef MOVED
#undef LEFT
};

/* A table of a new migration must be listed, or its rows would be lost. */
TEST(every_table_moves_or_is_said_to_stay)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char tables[4096] = "", n[16];

	test_sql(&t,
	         "SELECT ' ' || group_concat(name, ' ') || ' ' "
	         "FROM sqlite_master WHERE type = 'table' "
	         "AND name NOT LIKE 'sqlite_%'",
	         tables, sizeof(tables));
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		char word[64];

		snprintf(word, sizeof(word), " %s ", known[i]);
		ck_assert_msg(strstr(tables, word) != NULL, "%s", known[i]);
	}
	test_sql(&t,
	         "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' "
	         "AND name NOT LIKE 'sqlite_%'",
	         n, sizeof(n));
	ck_assert_msg(strtoul(n, NULL, 10) == ARRAY_LEN(known), "%zu of:%s",
	              ARRAY_LEN(known), tables);
}
END

static int
try_move(const char *dir, const char *database, struct buf *why)
{
	struct conf conf = test_conf(dir);
	struct move_report r;

	conf.store_database = (char *)database;
	conf.store_bytes = (char *)"file";
	return store_move(&conf, &r, why);
}

/* There is no such server: errors here must be reported before it connects. */
#define NOWHERE "postgresql:///none?host=/nonexistent"

TEST(a_store_that_is_open_elsewhere_does_not_move)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int to[2], status;
	char c;
	pid_t pid;

	store_close(&t.s);
	ck_assert_int_eq(pipe(to), 0);
	pid = fork();
	if (!pid) {
		t.s = test_store_again(&t, true);
		_exit(write(to[1], "", 1) != 1 || pause());
	}
	ck_assert_int_eq(read(to[0], &c, 1), 1);
	ck_assert_int_eq(try_move(t.dir, NOWHERE, &why), -EBUSY);
	ck_assert_msg(strstr(buf_str(&why), "is in use by process") != NULL,
	              "%s", buf_str(&why));
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	close(to[0]);
	close(to[1]);
	t.s = test_store_again(&t, true);
}
END

TEST(a_store_that_is_not_there_is_not_made)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	char dir[] = "/tmp/stoker-test.XXXXXX", path[64];

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(try_move(dir, NOWHERE, &why), -ENOENT);
	snprintf(path, sizeof(path), "%s/stoker.db", dir);
	ck_assert_int_eq(access(path, F_OK), -1);
	test_remove(dir);
}
END

TEST(a_server_that_does_not_answer_is_told)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	store_close(&t.s);
	ck_assert_int_eq(try_move(t.dir, NOWHERE, &why), -EIO);
	ck_assert_msg(strstr(buf_str(&why), "none") != NULL, "%s",
	              buf_str(&why));
	t.s = test_store_again(&t, true);
}
END

/* The centre already has everything that this host captured. */
TEST(a_host_s_store_does_not_move)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	test_sql(&t, "INSERT INTO agent_service VALUES ('t', 'svc', 1)", NULL,
	         0);
	store_close(&t.s);
	ck_assert_int_eq(try_move(t.dir, NOWHERE, &why), -EPERM);
	t.s = test_store_again(&t, true);
}
END

SUITE("move");

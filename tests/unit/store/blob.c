#include "lib/faults.h"
#include "lib/store.h"
#include "store/db/db_test.h"
#include "store/service.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool
exists(struct store *s, const char *name)
{
	return !faccessat(s->profiles_fd, name, F_OK, 0);
}

/* Adds a completed session of a tenant with these bytes, age_ms ago. */
static void
upload_of(struct store *s, const char *tenant, int64_t age_ms, const char *text,
          struct blob *b, char id[static ID_MAX])
{
	struct session_result r = test_result();
	struct session_ask ask = test_ask();

	ask.tenant = tenant;
	ask.origin = SESSION_UPLOAD;
	test_blob(s, text, b);
	db_skew_clock(s->db, -age_ms);
	ck_assert_int_eq(session_upload(s, &ask, &r, b, id), 0);
	db_skew_clock(s->db, 0);
}

static void
upload_aged(struct store *s, int64_t age_ms, const char *text, struct blob *b,
            char id[static ID_MAX])
{
	upload_of(s, TEST_TENANT, age_ms, text, b, id);
}

TEST(what_was_put_is_read)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_BUF struct buf got = BUF_INIT(100);
	struct blob b;

	test_blob(&t.s, "bytes", &b);
	ck_assert_int_eq(b.length, 5);
	ck_assert_int_eq(blob_read(&t.s, &b, &got), 0);
	ck_assert_str_eq(buf_str(&got), "bytes");
}
END

TEST(how_large_a_gzipped_blob_was_is_told_by_its_last_bytes)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_BLOB_WRITER struct blob_writer w = BLOB_WRITER_INIT;
	static const char bytes[] = "gzipped\x01\x02\x03\x84";
	struct blob b;
	uint32_t n;

	ck_assert_int_eq(
		blob_put(&t.s, BLOB_PPROF, bytes, sizeof(bytes) - 1, &w, &b),
		0);
	ck_assert_int_eq(blob_raw_bytes(&t.s, &b, &n), 0);
	ck_assert_uint_eq(n, 0x84030201);
}
END

TEST(an_empty_blob_is_one)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_BUF struct buf got = BUF_INIT(100);
	struct blob b;

	test_blob(&t.s, "", &b);
	ck_assert_int_eq(blob_read(&t.s, &b, &got), 0);
	ck_assert_uint_eq(got.len, 0);
}
END

TEST(changed_bytes_are_found_out)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_BUF struct buf got = BUF_INIT(100);
	CLEANUP_FD int fd = -1;
	struct blob b;

	test_blob(&t.s, "bytes", &b);
	fd = openat(t.s.profiles_fd, b.name, O_WRONLY);
	ck_assert_int_eq(pwrite(fd, "B", 1, 0), 1);
	ck_assert_int_eq(blob_read(&t.s, &b, &got), -EBADMSG);
	ck_assert_int_eq(ftruncate(fd, 4), 0);
	ck_assert_int_eq(blob_open(&t.s, &b, &(int){-1}), -EBADMSG);
}
END

static const char *const bad_names[] = {
	"",
	"../stoker.db",
	"aa/../../x.pb.gz",
	"/etc/passwd",
	"aa/blob-a/b.pb.gz",
	"aa/.pb.gz",
	"AA/blob-abc.pb.gz",
	"aaa/blob-abc.pb.gz",
	"aa/blob-abc",
	"aa/other-abc.pb.gz",
};

TEST(names_that_no_blob_has_are_never_opened)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();

	for (size_t i = 0; i < ARRAY_LEN(bad_names); i++) {
		struct blob b = {.store = BYTES_FILE, .length = 1};

		snprintf(b.name, sizeof(b.name), "%s", bad_names[i]);
		ck_assert_int_eq(blob_open(&t.s, &b, &(int){-1}), -EBADMSG);
	}
}
END

TEST(a_link_in_place_of_a_blob_is_not_followed)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct blob b;

	test_blob(&t.s, "bytes", &b);
	ck_assert_int_eq(unlinkat(t.s.profiles_fd, b.name, 0), 0);
	ck_assert_int_eq(symlinkat("/etc/hostname", t.s.profiles_fd, b.name),
	                 0);
	ck_assert_int_eq(blob_open(&t.s, &b, &(int){-1}), -ELOOP);
}
END

TEST(a_blob_that_is_closed_unsealed_leaves_nothing)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct blob_writer w = BLOB_WRITER_INIT;

	ck_assert_int_eq(blob_create(&t.s, BLOB_PPROF, &w), 0);
	ck_assert(exists(&t.s, w.blob.name));
	blob_close(&w);
	ck_assert(!exists(&t.s, w.blob.name));
	blob_close(&w); /* again: harmless */
}
END

TEST(a_sealed_file_is_private_to_its_group)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct blob b;
	struct stat st;

	test_blob(&t.s, "bytes", &b);
	ck_assert_int_eq(fstatat(t.s.profiles_fd, b.name, &st, 0), 0);
	ck_assert_uint_eq(st.st_mode & 0137, 0);
}
END

TEST(sweeping_removes_orphans_and_keeps_the_rest)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct blob_writer half = BLOB_WRITER_INIT;
	struct blob kept, orphan;
	char id[ID_MAX];

	upload_aged(&t.s, 0, "kept", &kept, id);
	test_blob(&t.s, "orphan", &orphan);
	ck_assert_int_eq(blob_create(&t.s, BLOB_PPROF, &half), 0);
	ck_assert_int_eq(blob_sweep(&t.s, BYTES_FILE), 1);
	ck_assert(exists(&t.s, kept.name));
	ck_assert(!exists(&t.s, orphan.name));
	ck_assert(exists(&t.s, half.blob.name));
	close_ptr(&half.fd); /* its writer has died */
	ck_assert_int_eq(blob_sweep(&t.s, BYTES_FILE), 1);
	ck_assert(!exists(&t.s, half.blob.name));
}
END

TEST(a_blob_is_no_orphan_between_its_last_byte_and_its_row)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_BLOB_WRITER struct blob_writer w = BLOB_WRITER_INIT;
	struct blob b;

	ck_assert_int_eq(blob_put(&t.s, BLOB_PPROF, "x", 1, &w, &b), 0);
	ck_assert_int_eq(blob_sweep(&t.s, BYTES_FILE), 0);
	ck_assert(exists(&t.s, b.name));
	blob_close(&w);
	ck_assert(exists(&t.s, b.name));
	ck_assert_int_eq(blob_sweep(&t.s, BYTES_FILE), 1);
}
END

TEST(a_deleted_sessions_bytes_go_when_the_worker_reaps)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct blob b;
	char id[ID_MAX];

	upload_aged(&t.s, 0, "x", &b, id);
	ck_assert_int_eq(session_delete(&t.s, "other", id), -ENOENT);
	ck_assert_int_eq(session_delete(&t.s, TEST_TENANT, id), 0);
	ck_assert(exists(&t.s, b.name));
	ck_assert_int_eq(blob_reap(&t.s, BYTES_FILE), 1);
	ck_assert(!exists(&t.s, b.name));
	ck_assert_int_eq(blob_reap(&t.s, BYTES_FILE), 0);
}
END

TEST(a_host_leaves_the_bytes_and_rows_of_another_alone)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_STORE struct store other = test_store_again(&t, true);
	struct blob b;
	char id[ID_MAX];

	strcpy(other.host, "host2");
	upload_aged(&t.s, 0, "x", &b, id);
	ck_assert_int_eq(session_delete(&t.s, TEST_TENANT, id), 0);
	ck_assert_int_eq(blob_reap(&other, BYTES_FILE), 0);
	ck_assert(exists(&t.s, b.name));
	ck_assert_int_eq(blob_reap(&t.s, BYTES_FILE), 1);
}
END

TEST(age_and_bytes_are_capped_oldest_first)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char id[4][ID_MAX];
	int64_t bytes, n;
	struct blob b[4];

	for (int i = 0; i < 4; i++)
		upload_aged(&t.s, (4 - i) * 10000, "0123456789", &b[i], id[i]);
	ck_assert_int_eq(blob_retain(&t.s, 40, 45000), 0); /* at both caps */
	ck_assert_int_eq(blob_retain(&t.s, 40, 35000), 1);
	ck_assert_int_eq(blob_retain(&t.s, 19, 35000), 2);
	ck_assert_int_eq(blob_usage(&t.s, &bytes, &n), 0);
	ck_assert_int_eq(bytes, 10);
	ck_assert_int_eq(n, 1);
	ck_assert_int_eq(blob_of_session(&t.s, id[3], BLOB_PPROF, &b[0]), 0);
}
END

TEST(a_full_store_takes_from_the_tenant_that_holds_the_most)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct blob quiet, noisy[3];
	char id[ID_MAX];

	test_tenant(&t.s, "noisy");
	upload_aged(&t.s, 50000, "0123456789", &quiet, id);
	for (int i = 0; i < 3; i++)
		upload_of(&t.s, "noisy", (3 - i) * 10000, "0123456789",
		          &noisy[i], id);
	ck_assert_int_eq(blob_retain(&t.s, 20, 1000000), 2);
	ck_assert_int_eq(blob_reap(&t.s, BYTES_FILE), 2);
	ck_assert(exists(&t.s, quiet.name));
	ck_assert(exists(&t.s, noisy[2].name));
}
END

TEST(tenants_take_turns_once_they_hold_as_much)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct blob b[2], other[2];
	char id[ID_MAX];

	test_tenant(&t.s, "other");
	for (int i = 0; i < 2; i++) {
		upload_aged(&t.s, (9 - i) * 10000, "0123456789", &b[i], id);
		upload_of(&t.s, "other", (3 - i) * 10000, "0123456789",
		          &other[i], id);
	}
	ck_assert_int_eq(blob_retain(&t.s, 20, 1000000), 2);
	ck_assert_int_eq(blob_reap(&t.s, BYTES_FILE), 2);
	ck_assert(exists(&t.s, b[1].name));
	ck_assert(exists(&t.s, other[1].name));
}
END

TEST(pins_of_a_tenant_count_and_then_others_give_way)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct blob pinned, newer, other;
	char id[ID_MAX];

	test_tenant(&t.s, "other");
	upload_aged(&t.s, 10000, "0123456789", &newer, id);
	upload_aged(&t.s, 90000, "0123456789", &pinned, id);
	ck_assert_int_eq(session_pin(&t.s, TEST_TENANT, id, true), 0);
	upload_of(&t.s, "other", 50000, "0123456789", &other, id);
	ck_assert_int_eq(blob_retain(&t.s, 20, 1000000), 1);
	ck_assert_int_eq(blob_reap(&t.s, BYTES_FILE), 1);
	ck_assert(!exists(&t.s, newer.name));
	ck_assert_int_eq(blob_retain(&t.s, 10, 1000000), 1);
	ck_assert_int_eq(blob_reap(&t.s, BYTES_FILE), 1);
	ck_assert(!exists(&t.s, other.name));
	ck_assert(exists(&t.s, pinned.name));
}
END

TEST(retention_spares_what_runs)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char id[ID_MAX];

	test_enqueue(&t.s, 0, id);
	db_skew_clock(t.s.db, 1000000);
	ck_assert_int_eq(blob_retain(&t.s, 0, 1000), 0);
}
END

TEST(a_read_or_write_that_fails_leaves_session_and_bytes_together)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct session_result r = test_result();
	struct session_ask ask = test_ask();
	struct blob b;
	char id[ID_MAX];
	int64_t bytes, count;
	int n = 0, rc;

	ask.origin = SESSION_UPLOAD;
	test_blob(&t.s, "x", &b);
	do {
		db_fail_after(t.s.db, ++n);
		rc = session_upload(&t.s, &ask, &r, &b, id);
		db_fail_after(t.s.db, 0);
		ck_assert_int_eq(blob_usage(&t.s, &bytes, &count), 0);
		ck_assert_int_eq(count, !rc);
	} while (rc == -EIO);
	ck_assert_int_eq(rc, 0);
	ck_assert_int_gt(n, 4);
}
END

/* The calls that put a blob: o(penat), w(rite), s(ync). */
struct syncs {
	char calls[32];
	int n, fail; /* syncs so far, and which of them fails */
};

static int
note_sync(void *arg, const char *call, const char *path)
{
	struct syncs *y = arg;
	size_t n = strlen(y->calls);
	char c = !strcmp(call, "openat")  ? 'o'
	         : !strcmp(call, "write") ? 'w'
	         : !strcmp(call, "fsync") ? 's'
	                                  : '\0';

	(void)path;
	if (n < sizeof(y->calls) - 1)
		y->calls[n] = c;
	return c == 's' && ++y->n == y->fail ? EIO : 0;
}

TEST(a_name_is_on_disk_before_its_bytes_and_both_before_they_are_known)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	int rc, fail = 0;

	do {
		CLEANUP_BLOB_WRITER struct blob_writer w = BLOB_WRITER_INIT;
		struct syncs y = {.fail = ++fail};
		struct blob b;

		fault_watch(note_sync, &y);
		rc = blob_put(&t.s, BLOB_PPROF, "x", 1, &w, &b);
		fault_rest();
		if (rc)
			ck_assert_int_eq(rc, -EIO);
		else
			ck_assert_msg(strstr(y.calls, "osws") != NULL, "%s",
			              y.calls);
	} while (rc);
	ck_assert_int_gt(fail, 2);
}
END

SUITE("blob");

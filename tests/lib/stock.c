#include "lib/stock.h"

#include "base/json.h"
#include "store/files/digest.h"
#include "store/session.h"
#include "store/window.h"

#include <dirent.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define T0 (INT64_C(20000) * 86400000) /* midnight, October 2024 */

void
stock_profile(struct store *s, const char *text, char id[static ID_MAX])
{
	struct session_result r = test_result();
	struct session_ask ask = test_ask();
	struct blob b;

	ask.origin = SESSION_UPLOAD;
	test_blob(s, text, &b);
	ck_assert_int_eq(session_upload(s, &ask, &r, &b, id), 0);
}

void
stock_windows(struct store *s, char ids[STOCK_WINDOWS][ID_MAX])
{
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	CLEANUP_WINDOWS struct window_list l = {0};
	struct window_ask w[STOCK_WINDOWS];
	char series[ID_MAX], labels[32], text[STOCK_WINDOW];
	static int n;

	snprintf(labels, sizeof(labels), "{\"n\":\"%d\"}", n++);
	ck_assert_int_eq(series_of(s, TEST_TENANT, TEST_SERVICE, "cpu",
	                           TEST_HOST, labels, series),
	                 0);
	ck_assert_int_eq(segment_create(s, TEST_HOST, &g), 0);
	for (int i = 0; i < STOCK_WINDOWS; i++) {
		w[i] = (struct window_ask){.series = series,
		                           .start_ms = T0 + i * 1000,
		                           .end_ms = T0 + i * 1000 + 1000,
		                           .windows = 1,
		                           .sample_count = 1};
		memset(text, 'a' + i, sizeof(text));
		ck_assert_int_eq(segment_append(&g, text, sizeof(text), &w[i]),
		                 0);
	}
	ck_assert_int_eq(segment_sync(&g), 0);
	ck_assert_int_eq(window_commit(s, &g, w, STOCK_WINDOWS, NULL), 0);
	ck_assert_int_eq(
		window_between(s, series, WINDOW_CAPTURED, T0, T0 + 10000, &l),
		0);
	ck_assert_uint_eq(l.n, STOCK_WINDOWS);
	for (int i = 0; i < STOCK_WINDOWS; i++)
		snprintf(ids[i], ID_MAX, "%s", l.items[i].id);
}

struct stock
stock(void)
{
	struct stock k = {.t = test_store(),
	                  .root = "/dev/shm/stoker-test.XXXXXX"};
	char windows[STOCK_WINDOWS][ID_MAX];

	/* In memory if possible, since a backup syncs a lot. */
	if (access("/dev/shm", W_OK))
		snprintf(k.root, sizeof(k.root), "/tmp/stoker-test.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(k.root));
	snprintf(k.backup, sizeof(k.backup), "%s/backup", k.root);
	snprintf(k.restored, sizeof(k.restored), "%s/restored", k.root);
	for (int i = 0; i < STOCK_PROFILES; i++) {
		char text[32];

		snprintf(text, sizeof(text), "profile %d", i);
		stock_profile(&k.t.s, text, k.profile[i]);
	}
	stock_windows(&k.t.s, windows);
	return k;
}

void
stock_done(struct stock *k)
{
	test_store_done(&k->t);
	test_remove(k->root);
}

void
stock_clear(const struct stock *k, const char *prefix)
{
	DIR *d = opendir(k->root);
	struct dirent *e;

	while ((e = readdir(d)))
		if (!strncmp(e->d_name, prefix, strlen(prefix)))
			test_remove(stock_path(k->root, e->d_name));
	closedir(d);
}

struct backup_report
stock_backup(const struct stock *k)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct backup_report r = {0};
	int rc = backup_make(k->t.dir, k->backup, &r, &why);

	ck_assert_msg(!rc, "%d %s", rc, buf_str(&why));
	ck_assert_uint_eq(why.len, 0);
	return r;
}

void
stock_no_backup(const char *store, const char *dir, int expected,
                const char *words)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct backup_report r;

	ck_assert_int_eq(backup_make(store, dir, &r, &why), expected);
	ck_assert_msg(strstr(buf_str(&why), words), "%s", buf_str(&why));
}

int
stock_count(const char *dir, const char *part)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;

	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d))) {
		if (e->d_type == DT_DIR && e->d_name[0] != '.') {
			char below[512];

			snprintf(below, sizeof(below), "%s/%s", dir, e->d_name);
			n += stock_count(below, part);
		}
		n += strstr(e->d_name, part) != NULL;
	}
	closedir(d);
	return n;
}

struct stock_restored
stock_try(const struct stock *k, const char *to, bool replace)
{
	const struct restore_ask ask = {.dir = k->backup,
	                                .store_dir = to,
	                                .uid = geteuid(),
	                                .gid = getegid(),
	                                .replace = replace};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf aside = BUF_INIT(BUF_MAX_SMALL);
	struct stock_restored r = {0};

	r.rc = backup_restore(&ask, &r.backup, &aside, &why);
	ck_assert_int_eq(!r.rc, !why.len);
	snprintf(r.why, sizeof(r.why), "%s", buf_str(&why));
	snprintf(r.aside, sizeof(r.aside), "%s", buf_str(&aside));
	return r;
}

struct stock_restored
stock_restore(const struct stock *k, const char *to, bool replace)
{
	struct stock_restored r = stock_try(k, to, replace);

	ck_assert_msg(!r.rc, "%s", r.why);
	return r;
}

void
stock_refuse(const struct stock *k, const char *to, bool replace, int expected,
             const char *words)
{
	struct stock_restored r = stock_try(k, to, replace);

	ck_assert_msg(r.rc == expected, "%d %s", r.rc, r.why);
	ck_assert_msg(strstr(r.why, words), "%s", r.why);
}

void
stock_file(const struct stock *k, int i, char folder[static 64],
           char file[static 128])
{
	struct store s = k->t.s;
	struct blob b;

	ck_assert_int_eq(blob_of_session(&s, k->profile[i], BLOB_PPROF, &b), 0);
	snprintf(folder, 64, "profiles/%.2s", b.name);
	snprintf(file, 128, "profiles/%s", b.name);
}

struct expected {
	enum flaw_kind kind;
	int64_t n;
};

static void
expect(void *arg, const struct flaw *f)
{
	struct expected *e = arg;

	ck_assert_msg(f->kind == e->kind, "%s: %s: %s", flaw_name(f->kind),
	              f->where, f->what);
	e->n++;
}

int64_t
stock_flaws(const char *dir, bool in_backup, enum flaw_kind kind)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct expected e = {.kind = kind};
	struct backup seen;
	int rc = (in_backup ? backup_verify : store_verify)(dir, expect, &e,
	                                                    &seen, &why);

	ck_assert_msg(!rc, "%d %s", rc, buf_str(&why));
	return e.n;
}

void
stock_whole(const char *dir, bool in_backup)
{
	ck_assert_int_eq(stock_flaws(dir, in_backup, FLAW_KINDS), 0);
}

void
stock_read(struct store *s, const char *session, struct buf *out)
{
	struct blob b;

	buf_clear(out);
	if (!blob_of_session(s, session, BLOB_PPROF, &b))
		ck_assert_int_eq(blob_read(s, &b, out), 0);
}

const char *
stock_path(const char *dir, const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

void
stock_sql(const char *database, const char *sql)
{
	sqlite3 *c;

	ck_assert_int_eq(sqlite3_open(database, &c), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(c, sql, NULL, NULL, NULL), SQLITE_OK);
	ck_assert_int_eq(sqlite3_close(c), SQLITE_OK);
}

static json_t *
manifest(const struct stock *k)
{
	json_t *j =
		json_load_file(stock_path(k->backup, "manifest.json"), 0, NULL);

	ck_assert_ptr_nonnull(j);
	return j;
}

const char *
stock_database(const struct stock *k)
{
	CLEANUP_JSON json_t *j = manifest(k);

	return stock_path(k->backup,
	                  json_string_value(json_object_get(j, "database")));
}

void
stock_agree(const struct stock *k)
{
	CLEANUP_JSON json_t *j = manifest(k);
	CLEANUP_FD int fd = open(stock_database(k), O_RDONLY | O_CLOEXEC);
	char checksum[DIGEST_CHARS];
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(digest_file(fd, st.st_size, checksum), 0);
	json_object_set_new(j, "databaseChecksum", json_string(checksum));
	ck_assert_int_eq(
		json_dump_file(j, stock_path(k->backup, "manifest.json"), 0),
		0);
}

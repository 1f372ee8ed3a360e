#include "store/verify.h"

#include "backup_dir.h"
#include "base/clock.h"
#include "base/folder.h"
#include "store/db/sqlite.h"
#include "store/files/orphans.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
	const char *name, *fix[2];
} rows[] = {
#define FLAW(kind, name, store, backup) {name, {store, backup}},
#include "store/flaws.def"
#undef FLAW
};

const char *
flaw_name(enum flaw_kind kind)
{
	return rows[kind].name;
}

const char *
flaw_fix(enum flaw_kind kind, bool in_backup)
{
	return rows[kind].fix[in_backup];
}

struct verifying {
	struct db *db;
	struct extent_place place;
	struct backup seen;
	verify_found *found;
	void *arg;
	const char *folder; /* the folder that is searched for orphans */
	const char *database;
};

static void
verifying_done(struct verifying *v)
{
	db_close(v->db);
	extent_place_close(&v->place);
}

static void
report(const struct verifying *v, enum flaw_kind kind, const char *where,
       const char *what)
{
	const struct flaw f = {kind, where, what};

	v->found(v->arg, &f);
}

/* --- the database --------------------------------------------------------- */

static void
report_damage(void *arg, enum db_damage kind, const char *line)
{
	report(arg, kind == DB_DAMAGE_PAGE ? FLAW_DATABASE : FLAW_REFERENCE,
	       ((struct verifying *)arg)->database, line);
}

/* Counts damage that makes SQLite give up as one more flaw. */
static int
unless_damaged(const struct verifying *v, int rc)
{
	if (rc != -EBADMSG)
		return rc;
	report(v, FLAW_DATABASE, v->database, db_why(v->db));
	return 0;
}

/* Counts damage that keeps SQLite from opening the database. */
static int
unless_no_database(const struct verifying *v, int rc, struct buf *why)
{
	if (rc != -EBADMSG)
		return rc;
	report(v, FLAW_DATABASE, v->database, buf_str(why));
	buf_clear(why);
	return 0;
}

/* --- bytes of rows -------------------------------------------------------- */

static void
report_extent(const struct verifying *v, const struct extent *e, int rc)
{
	CLEANUP_BUF struct buf where = BUF_INIT(BUF_MAX_SMALL);
	const char *of = e->kind == EXTENT_PROFILE ? e->owner : e->id;

	extent_path(e, &where);
	buf_addf(&where, " of %s", of);
	if (rc == -ENOENT)
		report(v, FLAW_MISSING, buf_str(&where), "the file is missing");
	else if (rc == -EBADMSG)
		report(v, FLAW_DAMAGED, buf_str(&where),
		       "its length or checksum is wrong");
	else
		report(v, FLAW_UNREADABLE, buf_str(&where), strerror(-rc));
}

static int
verify_extent(void *arg, const struct extent *e)
{
	struct verifying *v = arg;
	int live, rc = extent_check(&v->place, e);

	if (rc == -ENOMEM)
		return rc;
	if (rc) {
		live = extent_live(v->db, e);
		if (live <= 0)
			return live; /* deleted since its row was read */
		report_extent(v, e, rc);
	}
	v->seen.files += e->kind == EXTENT_PROFILE;
	v->seen.windows += e->kind == EXTENT_WINDOW;
	v->seen.bytes += e->length;
	return 0;
}

/* --- files without a row -------------------------------------------------- */

/* True for a file whose writer was killed recently: the next worker that starts
 * removes it. */
static bool
is_young(int dir_fd, const char *file)
{
	struct stat st;

	return !fstatat(dir_fd, file, &st, AT_SYMLINK_NOFOLLOW) &&
	       clock_wall_ms() < st.st_mtim.tv_sec * MS_PER_S + VERIFY_YOUNG_MS;
}

static int
report_orphan(void *arg, int dir_fd, const char *file)
{
	CLEANUP_BUF struct buf where = BUF_INIT(BUF_MAX_SMALL);
	const struct verifying *v = arg;

	if (is_young(dir_fd, file))
		return 0;
	buf_addf(&where, "%s/%s", v->folder, file);
	report(v, FLAW_ORPHAN, buf_str(&where), "no row names this file");
	return 0;
}

static int
find_orphans(struct verifying *v, enum extent_kind kind, const char *name,
             const char *folder, enum sql known)
{
	v->folder = folder;
	return orphans_each(v->db, v->place.fds[kind], name, known,
	                    report_orphan, v);
}

static int
find_profile_orphans(void *arg, const char *name)
{
	CLEANUP_BUF struct buf folder = BUF_INIT(BUF_MAX_SMALL);

	buf_addf(&folder, "profiles/%s", name);
	return find_orphans(arg, EXTENT_PROFILE, name, buf_str(&folder),
	                    SQL_BLOB_KNOWN);
}

static int
find_all_orphans(struct verifying *v)
{
	return folder_each(v->place.fds[EXTENT_PROFILE], find_profile_orphans,
	                   v)
	               ?: find_orphans(v, EXTENT_WINDOW, ".", "segments",
	                               SQL_SEGMENT_KNOWN);
}

/* --- the whole store ------------------------------------------------------ */

static int
verify_rows(struct verifying *v)
{
	struct db_schema schema = {0};
	int rc = db_schema(v->db, &schema);

	v->seen.schema = schema.version;
	v->seen.taken_ms = clock_wall_ms();
	return rc ?: unless_damaged(v, sqlite_examine(v->db, report_damage, v))
	                ?: unless_damaged(v, extent_each(v->db, verify_extent,
	                                                 v));
}

static int
explain(const struct verifying *v, int rc, struct buf *why)
{
	if (rc && !why->len)
		buf_addf(why, "%s: %s", v->place.path, strerror(-rc));
	return rc;
}

static int
verify_store(struct verifying *v, struct buf *why)
{
	CLEANUP_FD int fd =
		open(v->place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 ? -errno : store_look_in(v->place.path, &v->db, why);
	struct stat st;

	if (rc)
		return unless_no_database(v, rc, why);
	if (!fstatat(fd, STORE_DB, &st, 0))
		v->seen.bytes += st.st_size;
	return extent_place_open(&v->place, fd, why)
	               ?: verify_rows(v)
	               ?: unless_damaged(v, find_all_orphans(v));
}

int
store_verify(const char *dir, verify_found *found, void *arg,
             struct backup *out, struct buf *why)
{
	CLEANUP(verifying_done)
	struct verifying v = {.place = EXTENT_PLACE_INIT,
	                      .found = found,
	                      .arg = arg,
	                      .database = STORE_DB};
	int rc;

	v.place.path = dir;
	rc = verify_store(&v, why);
	if (!rc)
		*out = v.seen;
	return explain(&v, rc, why);
}

/* Verifies the database's own checksum; 1 when there is no file. */
static int
check_database(struct verifying *v, const struct backup_dir *d)
{
	char checksum[DIGEST_CHARS] = "";
	CLEANUP_FD int fd = -1;
	struct stat st = {0};
	int rc = backup_dir_file(d, d->manifest.database, &fd);

	if (!rc && fstat(fd, &st))
		rc = -errno;
	if (rc == -EBADMSG) {
		report(v, FLAW_DAMAGED, v->database, "it is not a file");
		return 1;
	}
	if (rc == -ENOENT) {
		report(v, FLAW_MISSING, v->database, "the file is missing");
		return 1;
	}
	if (!rc)
		rc = digest_file(fd, st.st_size, checksum);
	if (rc)
		return rc;
	v->seen.bytes += st.st_size;
	if (strcmp(checksum, d->manifest.checksum) != 0)
		report(v, FLAW_DAMAGED, v->database, "its checksum is wrong");
	return 0;
}

static int
verify_backup(struct verifying *v, struct backup_dir *d, struct buf *why)
{
	int rc = backup_dir_open(v->place.path, d, why);

	if (rc)
		return rc;
	v->database = d->manifest.database;
	rc = check_database(v, d);
	if (rc)
		return rc < 0 ? rc : 0;
	rc = backup_dir_db(d, &d->manifest, &v->db, why);
	if (rc)
		return unless_no_database(v, rc, why);
	return extent_place_open(&v->place, d->fd, why) ?: verify_rows(v);
}

int
backup_verify(const char *dir, verify_found *found, void *arg,
              struct backup *out, struct buf *why)
{
	CLEANUP(verifying_done)
	struct verifying v = {
		.place = EXTENT_PLACE_INIT, .found = found, .arg = arg};
	CLEANUP_BACKUP_DIR struct backup_dir d = BACKUP_DIR_INIT;
	int rc;

	v.place.path = dir;
	v.place.uncached = true;
	rc = verify_backup(&v, &d, why);
	v.seen.taken_ms = d.manifest.backup.taken_ms;
	if (!rc)
		*out = v.seen;
	return explain(&v, rc, why);
}

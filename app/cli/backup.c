/* stoker backup, restore, verify: commands that work on the store itself. */
#include "cli.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/quantity.h"
#include "become.h"
#include "settings.h"
#include "store/backup.h"
#include "store/verify.h"
#include "table.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <string.h>

#define STORE_USER "stoker" /* systemd/stoker.sysusers.conf */
#define FLAWS_MAX  100

/* Reads the configuration, to find the directory of the store. Refuses a store
 * in PostgreSQL, which has its own tools for backup and restore. */
static int
store_dir(const struct options *o, struct conf *out)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	if (settings_load(o, out, &why))
		return failed("%s", buf_str(&why));
	if (!db_is_remote(out->store_database))
		return LEAVE_OK;
	return failed("the rows of this store are in PostgreSQL: pg_dump and "
	              "pg_restore copy them; copy profiles/ and segments/ of "
	              "%s after pg_dump has ended",
	              out->store_dir);
}

/* If root runs this program, gives up all rights but those of the directory's
 * owner. */
static int
become(const char *dir)
{
	int rc = become_owner(dir);

	return rc && rc != -ENOENT ? failed("%s: %s", dir, strerror(-rc))
	                           : LEAVE_OK;
}

static int
failed_for(int rc, const struct buf *why)
{
	return failed("%s", why->len ? buf_str(why) : strerror(-rc));
}

/* Appends "12 files of profiles and 3 windows, 1.50 MiB". */
static void
put_backup(struct buf *out, const struct backup *b)
{
	buf_addf(out,
	         "%" PRId64 " file%s of profiles and %" PRId64 " window%s, ",
	         b->files, b->files == 1 ? "" : "s", b->windows,
	         b->windows == 1 ? "" : "s");
	quantity(out, b->bytes, "bytes");
}

static void
put_backup_json(struct buf *out, const char *dir, const struct backup *b)
{
	json_put_text(out, "directory", dir);
	json_put_time(out, "takenAt", b->taken_ms);
	json_put_int(out, "schema", b->schema);
	json_put_int(out, "files", b->files);
	json_put_int(out, "windows", b->windows);
	json_put_int(out, "bytes", b->bytes);
}

static int
print_json_text(struct buf *out)
{
	json_close(out, '}');
	buf_putc(out, '\n');
	return print(out);
}

/* --- backup --------------------------------------------------------------- */

static int
show_backup(const struct cli *c, const char *dir, const struct backup_report *r,
            double seconds)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	if (c->opt.json) {
		json_open(&out, NULL, '{');
		put_backup_json(&out, dir, &r->now);
		json_put_int(&out, "copied", r->copied);
		json_put_int(&out, "copiedBytes", r->copied_bytes);
		json_put_int(&out, "removed", r->removed);
		json_put_real(&out, "seconds", seconds);
		return print_json_text(&out);
	}
	buf_addf(&out, "%s: ", dir);
	put_backup(&out, &r->now);
	buf_puts(&out, "; copied ");
	quantity(&out, r->copied_bytes, "bytes");
	buf_addf(&out, ", removed %" PRId64 " file%s, %.1f s\n", r->removed,
	         r->removed == 1 ? "" : "s", seconds);
	return print(&out);
}

int
cmd_backup(struct cli *c)
{
	CLEANUP(conf_done) struct conf conf = {0};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	const char *dir = c->operands[0];
	struct backup_report r = {0};
	int64_t began = clock_mono_ns();
	int rc;

	if (store_dir(&c->opt, &conf))
		return LEAVE_FAILED;
	rc = backup_make(conf.store_dir, dir, &r, &why);
	if (rc)
		return failed_for(rc, &why);
	return show_backup(c, dir, &r,
	                   (double)(clock_mono_ns() - began) /
	                           (double)NS_PER_S);
}

/* --- restore -------------------------------------------------------------- */

static int
show_restored(const struct cli *c, const char *dir, const struct backup *b,
              const struct buf *aside)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	char taken[RFC3339_LEN];

	if (c->opt.json) {
		json_open(&out, NULL, '{');
		put_backup_json(&out, dir, b);
		if (aside->len)
			json_put_text(&out, "movedTo", buf_str(aside));
		return print_json_text(&out);
	}
	clock_format(b->taken_ms, taken);
	buf_addf(&out, "%s: ", dir);
	put_backup(&out, b);
	buf_addf(&out, ", as of %s\n", taken);
	if (aside->len)
		buf_addf(&out, "The previous data is in %s.\n", buf_str(aside));
	buf_puts(&out, "The API keys are those of the backup. Keys that were "
	               "revoked since are valid again (stoker token list); "
	               "keys that were made since are not (stoker setup).\n");
	return print(&out);
}

int
cmd_restore(struct cli *c)
{
	CLEANUP(conf_done) struct conf conf = {0};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf aside = BUF_INIT(BUF_MAX_SMALL);
	struct restore_ask ask = {.dir = c->operands[0],
	                          .replace = c->opt.replace,
	                          .uid = geteuid(),
	                          .gid = getegid()};
	const struct passwd *owner = getpwnam(STORE_USER);
	struct backup b = {0};
	int rc;

	if (store_dir(&c->opt, &conf))
		return LEAVE_FAILED;
	ask.store_dir = conf.store_dir;
	if (owner) {
		ask.uid = owner->pw_uid;
		ask.gid = owner->pw_gid;
	}
	rc = backup_restore(&ask, &b, &aside, &why);
	if (rc)
		return failed_for(rc, &why);
	return show_restored(c, conf.store_dir, &b, &aside);
}

/* --- verify --------------------------------------------------------------- */

struct flaws {
	struct buf text; /* one line per flaw, or a JSON list */
	int64_t n, max;
	bool json, in_backup;
	bool of[FLAW_KINDS];
};

static void
add_json(struct flaws *l, const struct flaw *f)
{
	json_open(&l->text, NULL, '{');
	json_put_text(&l->text, "kind", flaw_name(f->kind));
	json_put_text(&l->text, "where", f->where);
	json_put_text(&l->text, "what", f->what);
	json_put_text(&l->text, "fix", flaw_fix(f->kind, l->in_backup));
	json_close(&l->text, '}');
}

static void
add_flaw(void *arg, const struct flaw *f)
{
	struct flaws *l = arg;

	l->of[f->kind] = true;
	if (l->n++ >= l->max)
		return;
	if (l->json) {
		add_json(l, f);
		return;
	}
	buf_addf(&l->text, "%-10s ", flaw_name(f->kind));
	safe_puts(&l->text, f->where);
	buf_puts(&l->text, ": ");
	safe_puts(&l->text, f->what);
	buf_putc(&l->text, '\n');
}

static void
put_fixes(struct buf *out, const struct flaws *l)
{
	for (enum flaw_kind k = 0; k < FLAW_KINDS; k++)
		if (l->of[k])
			buf_addf(out, "fix: %s: %s\n", flaw_name(k),
			         flaw_fix(k, l->in_backup));
}

static int
show_verified(const struct cli *c, const char *dir, const struct backup *b,
              struct flaws *l)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);

	if (c->opt.json) {
		json_close(&l->text, ']');
		json_open(&out, NULL, '{');
		put_backup_json(&out, dir, b);
		json_put_int(&out, "flawCount", l->n);
		json_put_raw(&out, "flaws", buf_str(&l->text), "[]");
		return print_json_text(&out);
	}
	buf_puts(&out, buf_str(&l->text));
	if (l->n > l->max)
		buf_addf(&out, "and %" PRId64 " more\n", l->n - l->max);
	put_fixes(&out, l);
	buf_addf(&out, "%s: ", dir);
	put_backup(&out, b);
	buf_addf(&out, "; %" PRId64 " flaw%s\n", l->n, l->n == 1 ? "" : "s");
	return print(&out);
}

static void
flaws_done(struct flaws *l)
{
	buf_done(&l->text);
}

int
cmd_verify(struct cli *c)
{
	CLEANUP(conf_done) struct conf conf = {0};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP(flaws_done)
	struct flaws l = {
		.text = BUF_INIT(BUF_MAX_REPLY),
		.max = c->opt.limit < 0 ? FLAWS_MAX : c->opt.limit,
		.json = c->opt.json,
		.in_backup = c->noperands,
	};
	const char *dir = c->noperands ? c->operands[0] : NULL;
	struct backup b = {0};
	int rc;

	if (!dir && store_dir(&c->opt, &conf))
		return LEAVE_UNJUDGED;
	if (!dir)
		dir = conf.store_dir;
	if (become(dir))
		return LEAVE_UNJUDGED;
	if (l.json)
		json_open(&l.text, NULL, '[');
	rc = l.in_backup ? backup_verify(dir, add_flaw, &l, &b, &why)
	                 : store_verify(dir, add_flaw, &l, &b, &why);
	if (rc) {
		failed_for(rc, &why);
		return LEAVE_UNJUDGED;
	}
	if (show_verified(c, dir, &b, &l))
		return LEAVE_UNJUDGED;
	return l.n ? LEAVE_FAILED : LEAVE_OK;
}

#include "store/names.h"

#include "base/rows.h"
#include "store/db/row.h"
#include "store/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "mod-"
/* Ends a member of a line; each line ends with a newline. */
#define END '\x1f'

static const struct row_field fields[] = {
	ROW_FIELD(names_module, id),      ROW_FIELD(names_module, tenant),
	ROW_FIELD(names_module, service), ROW_FIELD(names_module, build_id),
	ROW_FIELD(names_module, file),    ROW_FIELD(names_module, start),
	ROW_FIELD(names_module, limit),   ROW_FIELD(names_module, offset),
};
static const struct row_type type = ROW_TYPE(names_module, fields);

ROW_DONE(names_module, type)

/* --- asking --------------------------------------------------------------- */

/* Frames of a tenant that can still be added. */
struct room {
	int64_t modules, frames;
};

static int
find_room(struct store *s, const char *tenant, struct room *out)
{
	int64_t held[2];
	int rc = row_ints(s->db, held, 2, SQL_NAMES_HELD, ARGS(V(tenant)));

	if (rc)
		return rc;
	out->modules = NAMES_MAX_MODULES - held[0];
	out->frames = NAMES_MAX_FRAMES - held[1];
	return 0;
}

/* A module, and its numbers of frames, in all and with names. */
struct module {
	char id[ID_MAX];
	int64_t frames, named;
};

static int
find_module(struct store *s, const char *tenant,
            const struct names_place *place, struct module *out)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	uint64_t by = names_shift(place->start);
	int rc = db_first(s->db, SQL_NAMES_MODULE,
	                  ARGS(V(tenant), V(place->build_id),
	                       V((int64_t)(place->start - by)),
	                       V((int64_t)(place->limit - by)),
	                       V((int64_t)place->offset)),
	                  &rows);

	if (rc)
		return rc;
	snprintf(out->id, sizeof(out->id), "%s", db_col_text(&rows, 0));
	out->frames = db_col_int(&rows, 1);
	out->named = db_col_int(&rows, 2);
	return 0;
}

static int
add_module(struct store *s, const char *tenant, const char *service,
           const struct names_place *place, struct room *room,
           char out[static ID_MAX])
{
	CLEANUP_FREE char *host = NULL;
	uint64_t by = names_shift(place->start);
	int rc = room->modules-- > 0
	                 ? symbolize_host(s, tenant, service, "", &host)
	                 : -ENOENT;

	if (rc)
		return rc;
	id_new(PREFIX, out);
	return db_change(s->db, -ENOENT, SQL_NAMES_MODULE_ADD,
	                 ARGS(V((const char *)out), V(tenant), V(service),
	                      V(host), V(place->build_id), V(place->file),
	                      V((int64_t)(place->start - by)),
	                      V((int64_t)(place->limit - by)),
	                      V((int64_t)place->offset)));
}

static int
want(struct store *s, const char *tenant, const char *service,
     const struct names_wanted *w, struct room *room)
{
	uint64_t by = names_shift(w->place.start);
	struct module m = {0};
	int64_t added = 0;
	int rc = find_module(s, tenant, &w->place, &m);

	if (rc == -ENOENT)
		rc = add_module(s, tenant, service, &w->place, room, m.id);
	if (rc)
		return rc == -ENOENT ? 0 : rc; /* no worker could name it */
	for (uint32_t i = 0; i < w->n && room->frames > 0 &&
	                     m.frames + added < NAMES_MAX_OF_ONE;
	     i++) {
		rc = db_run(s->db, SQL_NAMES_FRAME_ADD,
		            ARGS(V((const char *)m.id),
		                 V((int64_t)(w->addresses[i] - by))));
		if (rc < 0)
			return rc;
		added += rc;
		room->frames -= rc;
	}
	return db_do(s->db, SQL_NAMES_MODULE_SEEN,
	             ARGS(V(added), V((const char *)m.id)));
}

int
names_want(struct store *s, const char *tenant, const char *service,
           const struct names_wanted *w, uint32_t n)
{
	struct room room = {0};
	int rc = store_begin(s);

	if (rc)
		return rc;
	rc = find_room(s, tenant, &room);
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = want(s, tenant, service, &w[i], &room);
	return store_end(s, rc);
}

static int
by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int
names_leave_asked(struct store *s, const char *tenant,
                  const struct names_place *place, uint64_t *addresses,
                  uint32_t *n)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	uint64_t by = names_shift(place->start);
	struct module m = {0};
	uint32_t left = 0, at = 0;
	int rc = find_module(s, tenant, place, &m);

	qsort(addresses, *n, sizeof(*addresses), by_number);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	rc = db_query(s->db, SQL_NAMES_ASKED, ARGS(V((const char *)m.id)),
	              &rows);
	while (!rc && (rc = db_next(&rows)) > 0) {
		uint64_t asked = (uint64_t)db_col_int(&rows, 0) + by;

		for (; at < *n && addresses[at] < asked; at++)
			addresses[left++] = addresses[at];
		at += at < *n && addresses[at] == asked;
		rc = 0;
	}
	for (; at < *n && !rc; at++)
		addresses[left++] = addresses[at];
	if (!rc)
		*n = left;
	return rc;
}

/* --- reading -------------------------------------------------------------- */

int
names_version(struct store *s, const char *tenant, int64_t *out)
{
	return row_int(s->db, out, SQL_NAMES_VERSION, ARGS(V(tenant)));
}

void
names_done(struct names *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->items[i].lines);
	free(l->items);
	*l = (struct names){0};
}

int
names_get(struct store *s, const char *tenant, const struct names_place *place,
          struct names *out)
{
	CLEANUP_NAMES struct names l = {0};
	CLEANUP_ROWS struct db_rows rows = {0};
	uint32_t room = 0;
	struct module m;
	int rc = find_module(s, tenant, place, &m);

	if (rc || !m.named)
		return rc == -ENOENT ? 0 : rc;
	rc = db_query(s->db, SQL_NAMES_LINES, ARGS(V((const char *)m.id)),
	              &rows);
	while (!rc && (rc = db_next(&rows)) > 0) {
		char *lines = strdup(db_col_text(&rows, 1));

		rc = lines ? ROWS_ROOM(l.items, room, l.n, 1) : -ENOMEM;
		if (rc)
			free(lines);
		else
			l.items[l.n++] = (struct names_frame){
				db_col_int(&rows, 0), lines};
	}
	if (rc)
		return rc;
	*out = TAKE(l);
	return 0;
}

static void
put_member(const char *text, struct buf *out)
{
	for (; *text; text++)
		buf_putc(out, *text == END || *text == '\n' ? ' ' : *text);
	buf_putc(out, END);
}

void
names_line_put(const struct names_line *l, struct buf *out)
{
	put_member(l->name, out);
	put_member(l->system_name, out);
	put_member(l->file, out);
	buf_addf(out, "%lld%c%lld\n", (long long)l->line, END,
	         (long long)l->start_line);
}

static char *
member(char **at, char end)
{
	char *text = *at, *to = strchr(text, end);

	if (!to)
		return NULL;
	*to = '\0';
	*at = to + 1;
	return text;
}

bool
names_line_next(char **text, struct names_line *out)
{
	char *line, *start;

	if (!(out->name = member(text, END)) ||
	    !(out->system_name = member(text, END)) ||
	    !(out->file = member(text, END)) || !(line = member(text, END)) ||
	    !(start = member(text, '\n')))
		return false;
	out->line = strtoll(line, NULL, 10);
	out->start_line = strtoll(start, NULL, 10);
	return true;
}

/* --- the worker's side ---------------------------------------------------- */

static int
get_addresses(struct store *s, const char *id, uint64_t **out, uint32_t *n)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	CLEANUP_FREE uint64_t *all = calloc(NAMES_MAX_OF_ONE, sizeof(*all));
	int rc = all ? db_query(s->db, SQL_NAMES_UNNAMED, ARGS(V(id)), &rows)
	             : -ENOMEM;

	*n = 0;
	while (!rc && *n < NAMES_MAX_OF_ONE && (rc = db_next(&rows)) > 0) {
		all[(*n)++] = (uint64_t)db_col_int(&rows, 0);
		rc = 0;
	}
	if (rc)
		return rc;
	*out = TAKE(all);
	return 0;
}

int
names_claim(struct store *s, const char *host, const char *last,
            struct names_module *out, uint64_t **addresses, uint32_t *n)
{
	CLEANUP_NAMES_MODULE struct names_module m = {0};
	int rc = row_one(s->db, &type, &m, SQL_NAMES_WAITING,
	                 ARGS(V(host), V((int64_t)NAMES_TRIES), V(last)));

	if (rc)
		return rc;
	rc = store_begin(s);
	if (rc)
		return rc;
	rc = db_change(s->db, -ENOENT, SQL_NAMES_CLAIM, ARGS(V(m.id)));
	rc = store_end(s, rc) ?: get_addresses(s, m.id, addresses, n);
	if (rc)
		return rc;
	*out = TAKE(m);
	return 0;
}

static int
put_lines(struct store *s, const struct names_module *m,
          const uint64_t *addresses, char *const *lines, uint32_t n)
{
	int64_t named = 0;
	int rc = 0;

	for (uint32_t i = 0; i < n && rc >= 0; i++) {
		if (!lines[i] || !*lines[i])
			continue;
		rc = db_run(
			s->db, SQL_NAMES_FRAME_NAMED,
			ARGS(V(lines[i]), V(m->id), V((int64_t)addresses[i])));
		named += rc > 0;
	}
	return rc < 0 ? rc
	              : db_do(s->db, SQL_NAMES_FINISH,
	                      ARGS(V(named), V(m->id)));
}

int
names_finish(struct store *s, const struct names_module *m,
             const uint64_t *addresses, char *const *lines, uint32_t n)
{
	return store_begin(s)
	               ?: store_end(s, put_lines(s, m, addresses, lines, n));
}

static int
change(struct store *s, enum sql sql, const char *host)
{
	return store_begin(s) ?: store_end(s, db_do(s->db, sql, ARGS(V(host))));
}

int
names_take_over(struct store *s, const char *host)
{
	return change(s, SQL_NAMES_TAKE_OVER, host);
}

int
names_again(struct store *s, const char *host)
{
	return change(s, SQL_NAMES_AGAIN, host);
}

int
names_prune(struct store *s, int64_t age_ms)
{
	return age_ms ? db_run(s->db, SQL_NAMES_PRUNE, ARGS(V(age_ms))) : 0;
}

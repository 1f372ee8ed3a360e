#include "window_session.h"

#include "base/clock.h"
#include "host_clocks.h"
#include "profile/merge.h"
#include "profile/packed.h"
#include "profile/types.h"
#include "range/names.h"
#include "store/blob.h"

#include <errno.h>
#include <string.h>

#define EARLIER_MS (60 * 60 * MS_PER_S)

static const char *const resolutions[WINDOW_LEVELS] = {
	[WINDOW_CAPTURED] = "captured",
	[WINDOW_MINUTE] = "minute",
	[WINDOW_HOUR] = "hour",
	[WINDOW_DAY] = "day",
};

static const char *
resolution_of(const struct window *w)
{
	return w->level >= 0 && w->level < WINDOW_LEVELS ? resolutions[w->level]
	                                                 : "";
}

static void
put_quality(struct buf *out, const struct window *w, const char *note)
{
	int64_t span = w->end_ms - w->start_ms;

	json_open(out, NULL, '{');
	json_put_text(out, "resolution", resolution_of(w));
	json_put_int(out, "windows", w->windows);
	json_put_int(out, "spanMs", span);
	json_put_int(out, "durationMs", w->duration_ms);
	json_put_real(out, "coveredPct",
	              span > 0 ? 100.0 * (double)w->duration_ms / (double)span
	                       : 100);
	json_open(out, "notes", '[');
	if (*note)
		json_put_text(out, NULL, note);
	json_close(out, ']');
	json_close(out, '}');
}

static void
put_labels(struct buf *out, const struct series *of)
{
	size_t n = strlen(of->labels);

	/* the series' labels, and the host */
	buf_add(out, of->labels, n > 1 ? n - 1 : 0);
	buf_puts(out, n > 2 ? "," : n ? "" : "{");
	json_put_text(out, "host", of->host);
	json_close(out, '}');
}

static int
fill(char **out, const char *text)
{
	*out = strdup(text);
	return *out ? 0 : -ENOMEM;
}

static int
fill_texts(const struct window *w, const struct series *of, const char *note,
           struct session *out)
{
	CLEANUP_BUF struct buf quality = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf labels = BUF_INIT(BUF_MAX_SMALL);

	put_quality(&quality, w, note);
	put_labels(&labels, of);
	return buf_err(&quality)
	               ?: buf_err(&labels)
	               ?: fill(&out->id, w->id)
	               ?: fill(&out->tenant, of->tenant)
	               ?: fill(&out->service, of->service)
	               ?: fill(&out->type, of->type)
	               ?: fill(&out->origin, SESSION_WINDOW)
	               ?: fill(&out->status, SESSION_COMPLETED)
	               ?: fill(&out->labels, buf_str(&labels))
	               ?: fill(&out->created_by, "")
	               ?: fill(&out->top_functions, "[]")
	               ?: fill(&out->quality, buf_str(&quality))
	               ?: fill(&out->phase, "done")
	               ?: fill(&out->error_code, "")
	               ?: fill(&out->error_message, "")
	               ?: fill(&out->host, of->host);
}

int
window_session(const struct window *w, const struct series *of,
               const char *note, struct session *out)
{
	CLEANUP_SESSION struct session s = {
		.ordinal = SESSION_ALL_ORDINALS,
		.asked_seconds = (w->end_ms - w->start_ms) / 1000,
		.created_ms = w->start_ms,
		.started_ms = w->start_ms,
		.completed_ms = w->end_ms,
		.duration_ms = w->duration_ms,
		.sample_count = w->sample_count,
		.has_profile = 1,
		.pinned = w->pinned,
		.progress = 1,
	};
	int rc = fill_texts(w, of, note, &s);

	if (w->duration_ms > 0)
		s.rate = (double)w->sample_count * 1000 /
		         (double)w->duration_ms;
	if (rc)
		return rc;
	*out = TAKE(s);
	return 0;
}

/* Describes a window, with a note if the clock of its host is wrong. */
static int
describe(struct call *c, const struct window *w, const struct series *of,
         struct session *out)
{
	CLEANUP_BUF struct buf note = BUF_INIT(BUF_MAX_SMALL);

	host_clocks_note(&c->env->store, c->caller.tenant, host_clocks_has, of,
	                 &note);
	return window_session(w, of, buf_str(&note), out);
}

int
window_find(struct call *c, const char *id, struct session *out)
{
	CLEANUP_WINDOW struct window w = {0};
	CLEANUP_SERIES struct series of = {0};
	int rc = window_get(&c->env->store, c->caller.tenant, id, &w, &of);

	return rc ? rc : describe(c, &w, &of, out);
}

int
window_find_earlier(struct call *c, const char *id, struct session *out)
{
	CLEANUP_WINDOW struct window w = {0};
	CLEANUP_SERIES struct series of = {0};
	CLEANUP_WINDOWS struct window_list l = {0};
	struct store *store = &c->env->store;
	int rc = window_get(store, c->caller.tenant, id, &w, &of);

	if (!rc)
		rc = window_between(store, of.id, (enum window_level)w.level,
		                    w.start_ms - EARLIER_MS, w.start_ms, &l);
	if (!rc && !l.n)
		rc = -ENOENT;
	return rc ? rc : describe(c, &l.items[0], &of, out);
}

/* A window in which nothing was sampled has no bytes. */
static int
empty_profile(const struct window *w, const struct series *of,
              struct profile **out)
{
	const struct type *t = type_find(of->type);
	CLEANUP_PROFILE struct profile *p = profile_new();
	int rc = !p               ? -ENOMEM
	         : t && *t->count ? profile_type(p, t->count, "count")
	                          : 0;

	rc = rc
	             ?: profile_type(p, t ? t->sample : of->type,
	                             t ? t->unit : "count");
	if (rc)
		return rc;
	p->default_type = p->types[p->ntypes - 1].type;
	p->time_ns = w->start_ms * NS_PER_MS;
	p->duration_ns = w->duration_ms * NS_PER_MS;
	*out = TAKE(p);
	return 0;
}

static int
read_profile(const struct store *store, const struct window *w,
             struct profile **out, struct buf *why)
{
	CLEANUP_BUF struct buf stored = BUF_INIT((size_t)WINDOW_MAX_BYTES + 1);
	CLEANUP_PACKED struct packed k = {0};

	return window_read(store, w, &stored)
	               ?: packed_decode(stored.p, stored.len, BLOB_MAX_RAW, &k,
	                                why)
	               ?: packed_profile(&k, BLOB_MAX_RAW, out);
}

int
window_profile(struct call *c, const char *id, struct profile **out,
               struct buf *why)
{
	CLEANUP_WINDOW struct window w = {0};
	CLEANUP_SERIES struct series of = {0};
	CLEANUP_PROFILE struct profile *p = NULL;
	struct store *store = &c->env->store;
	int rc = window_get(store, c->caller.tenant, id, &w, &of);

	if (!rc)
		rc = w.length ? read_profile(store, &w, &p, why)
		              : empty_profile(&w, &of, &p);
	if (!rc)
		rc = range_names_put(store, of.tenant, of.service, &p);
	if (!rc && type_is_gauge(of.type) && w.windows > 1)
		rc = profile_scale(p, 1, w.windows);
	if (!rc)
		*out = TAKE(p);
	return rc;
}

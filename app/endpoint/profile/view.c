#include "view.h"

#include "base/clock.h"
#include "base/hash.h"
#include "load.h"
#include "profile/gzip.h"
#include "profile/kind.h"
#include "profile/pprof.h"
#include "range/stored.h"
#include "window_session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Policy for a page that opens for anyone with its link, and holds names from
 * programs: it may run its own script and nothing else. */
#define CSP                                                           \
	"sandbox allow-scripts allow-downloads allow-popups; "        \
	"default-src 'none'; script-src 'unsafe-inline'; "            \
	"style-src 'unsafe-inline'; img-src data:; base-uri 'none'; " \
	"form-action 'none'; frame-ancestors 'none'"

static int
damaged(struct call *c, int rc, const char *why)
{
	if (rc == -ENOMEM || bytes_unreachable(rc))
		return fail_store(c, rc);
	buf_addf(&c->reply->cause, "stored profile: %s (%s)", why,
	         strerror(-rc));
	return fail(c, ProfileDamaged, "the profile");
}

static int
too_large(struct call *c)
{
	return fail(c, ViewTooLarge, TREE_MAX_NODES, BUF_MAX_REPLY >> 20);
}

static int
no_such_value(struct call *c, const struct profile *p, const char *value)
{
	CLEANUP_BUF struct buf known = BUF_INIT(BUF_MAX_SMALL);

	buf_puts(&known, "one of: ");
	for (uint32_t i = 0; i < p->ntypes; i++)
		buf_addf(&known, "%s%s", i ? ", " : "",
		         profile_text(p, p->types[i].type));
	return fail_param(c, "sampleType", buf_str(&known), value);
}

static const char *
given(struct call *c, enum param p)
{
	return param_given(c, p) ? param_text(c, p) : NULL;
}

void
view_labels(const struct call *c, enum param p, struct sift *out)
{
	struct query_pair m;

	while (out->nlabels < SIFT_LABELS &&
	       param_match(c, p, out->nlabels, &m))
		out->labels[out->nlabels++] =
			(struct sift_label){m.name, m.value};
}

struct view_of
view_asked(struct call *c, const struct view_rows *rows)
{
	struct view_of of = {
		.root = given(c, rows->root),
		.search = given(c, rows->search),
		.function = given(c, rows->function),
		.sift = {given(c, rows->focus), given(c, rows->hide),
	                 given(c, rows->fold), given(c, rows->fold_package),
	                 given(c, rows->fold_kind), given(c, rows->focus_text),
	                 given(c, rows->hide_text), given(c, rows->fold_text),
	                 .end_ns = c->end_ns},
	};

	view_labels(c, rows->sample, &of.sift);
	return of;
}

/* Appends the labels of samples that are shown, a text before each. */
static void
put_labels(const struct sift *s, const char *before, struct buf *out)
{
	for (uint32_t i = 0; i < s->nlabels; i++)
		buf_addf(out, "%s%s=%s", before, s->labels[i].key,
		         s->labels[i].value);
}

void
view_made_of(const struct view_of *of, struct buf *out)
{
	const char *const texts[] = {of->value,          of->root,
	                             of->search,         of->function,
	                             of->sift.focus,     of->sift.hide,
	                             of->sift.fold,      of->sift.fold_package,
	                             of->sift.fold_kind, of->sift.focus_text,
	                             of->sift.hide_text, of->sift.fold_text};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (texts[i])
			buf_addf(out, " %zu=%s", i, texts[i]);
	put_labels(&of->sift, " sample ", out);
}

uint32_t
view_hash(const struct view_of *of)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_REPLY);

	view_made_of(of, &text);
	return (uint32_t)hash_bytes(buf_str(&text), text.len);
}

static int
bad_sift(struct call *c)
{
	CLEANUP_BUF struct buf expected = BUF_INIT(BUF_MAX_SMALL);

	buf_puts(&expected,
	         "names, at most 16, with ; between them; kinds are ");
	kinds_list(", ", &expected);
	return fail_param(c, "focus, hide, fold, foldPackage or foldKind",
	                  buf_str(&expected), "");
}

/* Leaves out what the view hides, and says so in the title: the amount comes
 * first, since pictures cut long titles. */
static int
sift(struct call *c, const struct sift *s, uint32_t type, struct profile *p,
     struct buf *title)
{
	const char *const texts[][2] = {{", only ", s->focus},
	                                {", without ", s->hide},
	                                {", folded: ", s->fold},
	                                {", folded: ", s->fold_package},
	                                {", folded: ", s->fold_kind},
	                                {", only like ", s->focus_text},
	                                {", without like ", s->hide_text},
	                                {", folded like ", s->fold_text}};
	double all = (double)profile_total(p, type), left;
	int rc = sift_profile(p, s);

	if (rc == -EINVAL)
		return bad_sift(c);
	if (rc == -ETIME && call_go_on(c))
		return -1;
	if (rc == -E2BIG)
		return too_large(c);
	if (rc)
		return damaged(c, rc, "sifted");
	left = (double)profile_total(p, type);
	if (all > 0)
		buf_addf(title, " (%.1f %% left out)", 100 * (1 - left / all));
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (texts[i][1])
			buf_addf(title, "%s%s", texts[i][0], texts[i][1]);
	put_labels(s, ", only ", title);
	return 0;
}

int
view_profile(struct call *c, const struct session *s, const struct format *f,
             const struct view_of *of, struct profile *p)
{
	static const struct view_of all;
	const char *value = (of = of ? of : &all)->value;
	uint32_t type = profile_type_index(p, value);
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_TIMELINE struct timeline *timeline =
		f->use == FORMAT_TIMED && !sift_is_any(&of->sift)
			? stored_timeline(&c->env->store, s->id)
			: NULL;
	CLEANUP_LISTINGS struct listings listings = {0};
	CLEANUP_BUF struct buf title = BUF_INIT(BUF_MAX_SMALL);
	struct export_meta meta = {
		.id = s->id,
		.service = s->service,
		.type = s->type,
		.time_ms = s->started_ms,
		.duration_ms = s->duration_ms,
		.quality = s->quality,
		.timeline = timeline,
		.listings = listings.items,
		.search = of->search,
		.function = of->function,
	};
	int rc;

	if (type == PROFILE_NONE && value)
		return no_such_value(c, p, value);
	buf_addf(&title, "%s %s", s->service, value ? value : s->type);
	if (sift_is_any(&of->sift) && sift(c, &of->sift, type, p, &title))
		return -1;
	meta.title = buf_str(&title);
	if (f->use == FORMAT_LISTED)
		stored_listings(&c->env->store, c->caller.tenant, s->service,
		                s->id, &listings);
	meta.nlistings = listings.n;
	rc = tree_new(p, type, &t);
	if (call_go_on(c))
		return -1;
	if (!rc && of->root)
		rc = tree_find(t, of->root, &meta.root);
	if (rc == -ENOENT)
		return fail_param(c, "root", "frames of the profile, a;b;c",
		                  of->root);
	if (!rc)
		rc = f->write(t, &meta, &c->reply->body);
	if (rc == -E2BIG)
		return too_large(c);
	return rc ? fail_store(c, rc) : 0;
}

static int
write_view(struct call *c, const struct session *s, const struct format *f,
           const struct view_of *of, const struct buf *stored)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_BUF struct buf why = BUF_INIT(1024);
	int rc = pprof_decode(stored->p, stored->len, BLOB_MAX_RAW, &p, &why);

	return rc ? damaged(c, rc, buf_str(&why))
	          : view_profile(c, s, f, of, p);
}

/* Sends the stored bytes; through nginx if they are many and nginx can read
 * them. */
static int
send_stored(struct call *c, const struct blob *b)
{
	CLEANUP_BUF struct buf where = BUF_INIT(BUF_MAX_SMALL);
	bool many = b->length > c->env->conf->api_accel_bytes;
	int rc =
		many ? blob_location(&c->env->store, b, clock_wall_ms(), &where)
		     : 1;

	if (rc > 0) {
		rc = blob_read(&c->env->store, b, &c->reply->body);
		return rc ? damaged(c, rc, b->id) : 0;
	}
	if (rc)
		return damaged(c, rc, b->id);
	reply_header(c->reply, "X-Accel-Redirect", "%s", buf_str(&where));
	return 0;
}

int
view_render(struct call *c, const struct session *s, const struct format *f,
            const struct view_of *of, const struct blob *b)
{
	CLEANUP_BUF struct buf stored = BUF_INIT(BUF_MAX_REPLY);
	uint32_t bytes;
	int rc;

	if (f->use == FORMAT_STORED && !(of && sift_is_any(&of->sift)))
		return send_stored(c, b);
	rc = blob_raw_bytes(&c->env->store, b, &bytes);
	if (!rc && call_reads(c, bytes))
		return -1;
	if (!rc)
		rc = blob_read(&c->env->store, b, &stored);
	return rc ? damaged(c, rc, b->id) : write_view(c, s, f, of, &stored);
}

int
view_gzipped(struct call *c, const struct session *s, const struct format *f,
             const struct blob *b)
{
	CLEANUP_BUF struct buf raw = {0};
	struct buf *body = &c->reply->body;
	int rc = view_render(c, s, f, NULL, b);

	if (rc)
		return rc;
	raw = *body;
	*body = BUF_INIT(raw.max);
	rc = gzip_deflate(raw.p, raw.len, body);
	return rc ? fail_store(c, rc) : 0;
}

void
view_headers(struct call *c, enum param format, const char *cache)
{
	reply_header(c->reply, "Access-Control-Allow-Origin", "*");
	reply_header(c->reply, "Cache-Control", "%s", cache);
	reply_header(c->reply, "Content-Security-Policy", "%s", CSP);
	reply_header(c->reply, "Referrer-Policy", "no-referrer");
	if (!param_given(c, format))
		reply_header(c->reply, "Vary", "Accept");
}

const char *
view_disposition(const struct format *f)
{
	return f->use == FORMAT_SHOWN ? "inline" : "attachment";
}

void
view_begin(struct call *c, const struct format *f)
{
	c->reply->status = c->route->status;
	c->reply->content_type = f->content_type;
	c->reply->is_json = !strcmp(f->content_type, "application/json");
}

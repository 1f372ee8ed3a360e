#include "range/stored.h"

#include "base/pages.h"
#include "profile/pprof.h"
#include "range/slice.h"

#define LARGE_FILE ((size_t)1 << 20)

int
stored_find(struct store *s, const char *id, const char *kind, struct blob *out)
{
	struct slice x;

	return blob_of_session(s, slice_parse(id, &x) ? x.session : id, kind,
	                       out);
}

int
stored_read(const struct store *files, const struct blob *b,
            struct profile **out, struct buf *why)
{
	CLEANUP_BUF struct buf stored = BUF_INIT(BUF_MAX_REPLY);
	int rc = blob_read(files, b, &stored)
	                 ?: pprof_decode(stored.p, stored.len, BLOB_MAX_RAW,
	                                 out, why);

	/* the heap of a thread would keep it */
	if (stored.len > LARGE_FILE)
		pages_spent(stored.p, stored.p + stored.len);
	return rc;
}

int
stored_profile(struct store *s, const char *id, struct profile **out,
               struct buf *why)
{
	struct blob b;

	return stored_find(s, id, BLOB_PPROF, &b)
	               ?: stored_read(s, &b, out, why);
}

struct timeline *
stored_timeline_uncut(struct store *s, const char *id)
{
	CLEANUP_BUF struct buf stored = BUF_INIT(BUF_MAX_REPLY);
	struct timeline *t = NULL;
	struct blob b;

	if (stored_find(s, id, BLOB_TIMELINE, &b) ||
	    blob_read(s, &b, &stored) ||
	    timeline_decode(stored.p, stored.len, TIMELINE_MAX_BYTES, &t))
		return NULL;
	return t;
}

struct timeline *
stored_timeline(struct store *s, const char *id)
{
	struct timeline *t = stored_timeline_uncut(s, id);
	struct slice x;

	if (t && slice_parse(id, &x))
		timeline_cut(t, &x.part);
	return t;
}

/* Returns NULL if there is none, or it cannot be read. */
static struct listing *
read_listing(struct store *s, const char *id)
{
	CLEANUP_BUF struct buf stored = BUF_INIT(LISTING_MAX_FILE);
	struct listing *l = NULL;
	struct blob b;

	if (stored_find(s, id, BLOB_LISTING, &b) || blob_read(s, &b, &stored) ||
	    listing_decode(stored.p, stored.len, &l))
		return NULL;
	return l;
}

void
listings_done(struct listings *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		listing_free(l->items[i].l);
	listed_sessions_done(&l->of);
}

void
stored_listings(struct store *s, const char *tenant, const char *service,
                const char *id, struct listings *out)
{
	struct listing *l = read_listing(s, id);

	*out = (struct listings){.items[0].l = l, .n = l ? 1 : 0};
	if (l || session_listed(s, tenant, service, &out->of))
		return;
	for (size_t i = 0; i < out->of.n && out->n < LISTINGS_MAX; i++) {
		l = read_listing(s, out->of.items[i].id);
		if (l)
			out->items[out->n++] = (struct listing_source){
				l, out->of.items[i].id,
				out->of.items[i].started_ms};
	}
}

struct blocks *
stored_blocks(struct store *s, const char *id, const struct tree *t,
              enum blocks_what what)
{
	CLEANUP_TIMELINE struct timeline *line = stored_timeline(s, id);
	struct blocks *b = NULL;

	return line && !blocks_of_timeline(t, line, what, &b) ? b : NULL;
}

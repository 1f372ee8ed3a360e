#include "block_private.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"
#include "store/files/digest.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct tier {
	enum window_level level;
	int64_t range_ms; /* a block lies within one such period */
	bool whole;       /* and must fill it */
} tiers[BLOCK_TIERS] = {
	[BLOCK_FRESH] = {WINDOW_MINUTE, 3600 * MS_PER_S, false},
	[BLOCK_MINUTES] = {WINDOW_MINUTE, 3600 * MS_PER_S, true},
	[BLOCK_HOURS] = {WINDOW_HOUR, 86400 * MS_PER_S, false},
	[BLOCK_DAYS] = {WINDOW_DAY, 86400 * MS_PER_S, true},
};

enum window_level
block_level(enum block_tier tier)
{
	return tiers[tier].level;
}

int64_t
block_range_ms(enum block_tier tier)
{
	return tiers[tier].range_ms;
}

bool
block_range_valid(enum block_tier tier, int64_t start_ms, int64_t end_ms)
{
	const struct tier *t = &tiers[tier];
	int64_t step = t->whole ? t->range_ms : window_span_ms(t->level);

	return start_ms >= 0 && end_ms > start_ms && end_ms < INT64_MAX / 2 &&
	       start_ms % step == 0 && end_ms % step == 0 &&
	       start_ms / t->range_ms == (end_ms - 1) / t->range_ms;
}

/* --- reading -------------------------------------------------------------- */

void
block_done(struct block *b)
{
	free(b->series);
	free(b->windows);
	free(b->texts);
	*b = (struct block){0};
}

void
block_entry(const char *p, int64_t n, struct block_window *out)
{
	struct block_entry_bytes e = {.quota_ms = 0};
	int64_t *const to[BLOCK_NUMBERS] = {
		&out->start_ms, &out->end_ms,       &out->duration_ms,
		&out->windows,  &out->sample_count, &out->value,
		&out->start,    &out->length,
	};

	memcpy(&e, p, (size_t)n);
	for (size_t i = 0; i < BLOCK_NUMBERS; i++)
		*to[i] = (int64_t)le64toh(e.numbers[i]);
	out->quota_ms = (int64_t)le64toh(e.quota_ms);
	hex_encode(e.digest, sizeof(e.digest), out->checksum);
}

static int
bad(struct buf *why, const char *what)
{
	buf_addf(why, "a block with %s", what);
	return -EBADMSG;
}

/* Returns the length of an entry in a block with this magic; 0 if the magic is
 * unknown. */
static int64_t
entry_bytes_of(const char *magic)
{
	return !memcmp(magic, BLOCK_MAGIC, BLOCK_MAGIC_LEN)     ? BLOCK_ENTRY
	       : !memcmp(magic, BLOCK_MAGIC_1, BLOCK_MAGIC_LEN) ? BLOCK_ENTRY_1
	                                                        : 0;
}

/* Reads the end, and checks that its numbers are consistent. */
static int
read_end(const char *p, size_t n, struct block_end *out, struct buf *why)
{
	struct block_end e;
	size_t entries;

	if (n < sizeof(e) || !entry_bytes_of(p + n - BLOCK_MAGIC_LEN))
		return bad(why, "another form");
	memcpy(&e, p + n - sizeof(e), sizeof(e));
	e.tier = le32toh(e.tier);
	e.series = le32toh(e.series);
	e.windows = le32toh(e.windows);
	e.texts = le32toh(e.texts);
	e.start_ms = le64toh(e.start_ms);
	e.end_ms = le64toh(e.end_ms);
	e.entries = le64toh(e.entries);
	if (e.series > BLOCK_MAX_SERIES || e.windows > BLOCK_MAX_WINDOWS)
		return -E2BIG;
	entries = (size_t)e.windows * (size_t)entry_bytes_of(e.magic);
	n -= sizeof(e);
	if (e.texts > n || entries > n - e.texts ||
	    e.entries != n - e.texts - entries)
		return bad(why, "parts that do not fit");
	if (e.tier >= BLOCK_TIERS ||
	    !block_range_valid(e.tier, (int64_t)e.start_ms, (int64_t)e.end_ms))
		return bad(why, "a range of time that none of its kind has");
	*out = e;
	return 0;
}

struct texts {
	char *p, *end;
};

/* Takes a text of less than max bytes; NULL when there is none. */
static const char *
next(struct texts *t, size_t max)
{
	char *text = t->p;
	size_t n = strnlen(text, (size_t)(t->end - text));

	if (text + n == t->end || n >= max || !utf8_valid(text, n))
		return NULL;
	t->p += n + 1;
	return text;
}

/* True for a JSON object of strings in the canonical form of series_of(). */
static bool
labels_valid(const char *text)
{
	CLEANUP_JSON json_t *o = json_loads(text, 0, NULL);
	CLEANUP_FREE char *again = NULL;
	const char *key;
	json_t *value;

	if (!json_is_object(o))
		return false;
	json_object_foreach(o, key, value)
		if (!json_is_string(value))
			return false;
	again = json_dumps(o, JSON_SORT_KEYS | JSON_COMPACT);
	return again && !strcmp(again, text);
}

static int
read_series(struct texts *t, struct block_series *s, size_t first, size_t most)
{
	const char *n;

	s->service = next(t, STORE_NAME_MAX);
	s->type = s->service ? next(t, STORE_NAME_MAX) : NULL;
	s->labels = s->type ? next(t, BLOCK_LABELS_MAX) : NULL;
	n = s->labels ? next(t, 8) : NULL;
	if (!n || strspn(n, "0123456789") != strlen(n) || !*n ||
	    !labels_valid(s->labels))
		return -EBADMSG;
	s->first = first;
	s->n = strtoul(n, NULL, 10);
	return s->n && s->n <= most ? 0 : -EBADMSG;
}

static int
read_texts(struct block *b, size_t n)
{
	struct texts t = {b->texts, b->texts + n};
	size_t first = 0;
	int rc = 0;

	b->tenant = next(&t, STORE_TENANT_MAX);
	if (!b->tenant)
		return -EBADMSG;
	for (size_t i = 0; i < b->nseries && !rc; i++) {
		rc = read_series(&t, &b->series[i], first, b->nwindows - first);
		first += b->series[i].n;
	}
	return rc ?: first == b->nwindows && t.p == t.end ? 0 : -EBADMSG;
}

static bool
window_valid(const struct block *b, const struct block_window *w,
             const struct block_window *before, int64_t at)
{
	int64_t span = window_span_ms(block_level(b->tier));

	return w->start_ms >= b->start_ms && w->end_ms <= b->end_ms &&
	       w->start_ms % span == 0 && w->end_ms == w->start_ms + span &&
	       (!before || before->end_ms <= w->start_ms) &&
	       w->duration_ms >= 0 && w->quota_ms >= 0 && w->windows > 0 &&
	       w->sample_count >= 0 && w->start == at && w->length >= 0 &&
	       w->length <= WINDOW_MAX_BYTES && w->length <= b->entries - at;
}

static int
check_bytes(const char *p, const struct block_window *w)
{
	char checksum[DIGEST_CHARS];
	int rc = digest(p + w->start, (size_t)w->length, checksum);

	return rc ? rc : strcmp(checksum, w->checksum) ? -EBADMSG : 0;
}

static int
read_windows(const char *p, struct block *b, struct buf *why)
{
	int64_t at = 0;

	for (size_t i = 0; i < b->nseries; i++) {
		const struct block_series *s = &b->series[i];

		for (size_t k = 0; k < s->n; k++) {
			struct block_window *w = &b->windows[s->first + k];

			block_entry(p + b->entries +
			                    (int64_t)(s->first + k) *
			                            b->entry_bytes,
			            b->entry_bytes, w);
			if (!window_valid(b, w, k ? w - 1 : NULL, at))
				return bad(why, "a window out of place");
			if (check_bytes(p, w))
				return bad(why, "bytes of another checksum");
			at += w->length;
		}
	}
	return at == b->entries ? 0 : bad(why, "bytes of no window");
}

int
block_decode(const void *p, size_t n, struct block *out, struct buf *why)
{
	CLEANUP_BLOCK struct block b = {0};
	struct block_end e;
	int rc = n > BLOCK_MAX_BYTES ? -E2BIG : read_end(p, n, &e, why);

	if (rc)
		return rc;
	b = (struct block){
		.tier = e.tier,
		.start_ms = (int64_t)e.start_ms,
		.end_ms = (int64_t)e.end_ms,
		.entries = (int64_t)e.entries,
		.entry_bytes = entry_bytes_of(e.magic),
		.nseries = e.series,
		.nwindows = e.windows,
		.series = calloc(e.series + 1, sizeof(*b.series)),
		.windows = calloc(e.windows + 1, sizeof(*b.windows)),
		.texts = malloc(e.texts + 1),
	};
	if (!b.series || !b.windows || !b.texts)
		return -ENOMEM;
	memcpy(b.texts, (const char *)p + n - sizeof(e) - e.texts, e.texts);
	if (read_texts(&b, e.texts))
		return bad(why, "texts that name no series");
	rc = read_windows(p, &b, why);
	if (rc)
		return rc;
	*out = TAKE(b);
	return 0;
}

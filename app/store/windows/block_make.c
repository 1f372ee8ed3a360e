/* Makes blocks of a host's windows. */
#include "block_private.h"

#include "store/files/digest.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

struct writer {
	struct buf *out;
	size_t from; /* where the block begins in out */
	struct buf entries, texts;
	uint32_t series, windows;
};

static void
writer_done(struct writer *w)
{
	buf_done(&w->entries);
	buf_done(&w->texts);
}

static int
add_entry(struct writer *w, const struct window *of, int64_t start)
{
	const int64_t numbers[BLOCK_NUMBERS] = {
		of->start_ms,     of->end_ms, of->duration_ms, of->windows,
		of->sample_count, of->value,  start,           of->length,
	};
	struct block_entry_bytes e;
	int rc = hex_decode(of->checksum, e.digest, sizeof(e.digest));

	for (size_t i = 0; i < BLOCK_NUMBERS; i++)
		e.numbers[i] = htole64((uint64_t)numbers[i]);
	e.quota_ms = htole64((uint64_t)of->quota_ms);
	buf_add(&w->entries, &e, sizeof(e));
	return rc;
}

static int
add_window(struct writer *w, const struct store *s, const struct window *of)
{
	size_t from = w->out->len;
	struct window sent = *of; /* a counted window is sent with its base */
	char checksum[DIGEST_CHARS];
	int rc = of->length ? window_read(s, of, w->out) : 0;

	sent.length = (int64_t)(w->out->len - from);
	if (!rc && sent.length != of->length) {
		sent.checksum = checksum;
		rc = digest(w->out->p + from, w->out->len - from, checksum);
	}
	return rc ?: add_entry(w, &sent, (int64_t)(from - w->from));
}

static int
add_series(struct writer *w, struct store *s, const struct series *of,
           enum block_tier tier, int64_t start_ms, int64_t end_ms)
{
	CLEANUP_WINDOWS struct window_list l = {0};
	int rc = window_between(s, of->id, block_level(tier), start_ms, end_ms,
	                        &l);

	if (rc || !l.n)
		return rc;
	w->series++;
	w->windows += (uint32_t)l.n;
	buf_add(&w->texts, of->service, strlen(of->service) + 1);
	buf_add(&w->texts, of->type, strlen(of->type) + 1);
	buf_add(&w->texts, of->labels, strlen(of->labels) + 1);
	buf_addf(&w->texts, "%zu", l.n);
	buf_putc(&w->texts, '\0');
	for (size_t i = 0; i < l.n && !rc; i++)
		rc = add_window(w, s, &l.items[i]);
	return rc;
}

static int
write_end(struct writer *w, const struct block_end *e)
{
	buf_add(w->out, w->entries.p, w->entries.len);
	buf_add(w->out, w->texts.p, w->texts.len);
	buf_add(w->out, e, sizeof(*e));
	if (w->out->len - w->from > BLOCK_MAX_BYTES ||
	    w->windows > BLOCK_MAX_WINDOWS || w->series > BLOCK_MAX_SERIES)
		return -EFBIG;
	return buf_err(&w->entries) ?: buf_err(&w->texts) ?: buf_err(w->out);
}

int
block_of_windows(struct store *s, const char *tenant, enum block_tier tier,
                 int64_t start_ms, int64_t end_ms, struct buf *out)
{
	CLEANUP(writer_done)
	struct writer w = {
		.out = out,
		.from = out->len,
		.entries = BUF_INIT(BLOCK_MAX_BYTES),
		.texts = BUF_INIT(BLOCK_MAX_BYTES),
	};
	CLEANUP_SERIES_LIST struct series_list l = {0};
	const struct series_filter f = {tenant, "", "", s->host};
	struct block_end e;
	int rc = block_range_valid(tier, start_ms, end_ms)
	                 ? series_list(s, &f, &l)
	                 : -EINVAL;

	buf_add(&w.texts, tenant, strlen(tenant) + 1);
	for (size_t i = 0; i < l.n && !rc; i++)
		rc = add_series(&w, s, &l.items[i], tier, start_ms, end_ms);
	if (!rc && !w.windows)
		rc = -ENODATA;
	e = (struct block_end){
		htole32(tier),
		htole32(w.series),
		htole32(w.windows),
		htole32((uint32_t)w.texts.len),
		htole64((uint64_t)start_ms),
		htole64((uint64_t)end_ms),
		htole64((uint64_t)(out->len - w.from)),
		BLOCK_MAGIC,
	};
	return rc ?: write_end(&w, &e);
}

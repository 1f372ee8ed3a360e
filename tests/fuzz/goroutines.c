/*
 * A hostile Go process: a recorded one (lib/goroutine_image.h) in which the
 * input changes some words of memory or of the executable.
 */
#include "lib/goroutine_image.h"

#include "base/cleanup.h"

#include <stdint.h>
#include <string.h>

#define IMAGE     "tests/data/goroutines.image.gz"
#define MAX_EDITS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { SET, COPY, ADD, CUT, KINDS };

struct edit {
	uint8_t kind, part; /* part: 0: the executable, else a piece */
	uint16_t scale;
	uint32_t at;
	uint64_t value; /* for COPY: where from, in the same part */
};

struct undo {
	uint8_t *at;
	uint64_t was;
	uint64_t *bytes; /* copy of a piece that was cut; or NULL */
};

static struct image *
image(void)
{
	static struct image m;

	if (!m.elf && image_read(IMAGE, &m))
		abort(); /* run it from the top of the tree */
	return &m;
}

static uint8_t *
place(const struct image *m, const struct edit *e, uint64_t at,
      uint64_t **bytes)
{
	size_t part = (e->part | (size_t)e->scale << 8) % (m->n + 1);
	uint8_t *p = part ? m->data[part - 1] : m->elf;
	uint64_t size = part ? m->pieces[part - 1].bytes : m->head.elf_bytes;

	*bytes = part ? &m->pieces[part - 1].bytes : NULL;
	return size < 8 ? NULL : p + at % (size - 7);
}

static bool
apply(const struct image *m, const struct edit *e, struct undo *u)
{
	uint64_t *bytes, value = e->value, was;
	uint8_t *at = place(m, e, e->at, &bytes);
	const uint8_t *from = place(m, e, e->value, &bytes);

	if (!at)
		return false;
	memcpy(&was, at, sizeof(was));
	*u = (struct undo){at, was, NULL};
	if (e->kind % KINDS == COPY)
		memcpy(&value, from, sizeof(value));
	else if (e->kind % KINDS == ADD)
		value = was + (uint64_t)(int64_t)(int32_t)e->value;
	memcpy(at, &value, sizeof(value));
	if (e->kind % KINDS == CUT && bytes) {
		u->bytes = bytes;
		memcpy(at, &was, sizeof(was));
		u->was = *bytes;
		*bytes = e->at % (*bytes + 1);
	}
	return true;
}

static void
take_back(const struct undo *u)
{
	if (u->bytes)
		*u->bytes = u->was;
	else
		memcpy(u->at, &u->was, sizeof(u->was));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	struct undo undo[MAX_EDITS];
	struct image *m = image();
	size_t done = 0;
	struct edit e;

	for (; n >= sizeof(e) && done < MAX_EDITS; n -= sizeof(e)) {
		memcpy(&e, data, sizeof(e));
		data += sizeof(e);
		done += apply(m, &e, &undo[done]);
	}
	if (!image_play(m, &p) && done == 0 && !p->nsamples)
		abort(); /* unchanged, it has goroutines */
	while (done)
		take_back(&undo[--done]);
	return 0;
}

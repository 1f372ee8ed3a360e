/* Profiles for Clang, made with the profiled program's debug information. */
#include "places.h"

#include "base/rows.h"
#include "import.h"

#include "capture/local_places.h"
#include "profile/autofdo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OFFSET 0xFFFF /* where LLVM cuts them */
#define MOST_PLACES 64

/* Samples whose innermost frame is at one address. */
struct spot {
	uint64_t address;
	int64_t samples;
};

struct maker {
	struct autofdo *made;
	struct spot *spots; /* of one mapping, ascending */
	uint64_t *addresses;
	uint32_t n;
	int64_t all;
};

static void
maker_done(struct maker *m)
{
	autofdo_free(m->made);
	free(m->spots);
	free(m->addresses);
}

static int
by_address(const void *a, const void *b)
{
	uint64_t x = ((const struct spot *)a)->address;
	uint64_t y = ((const struct spot *)b)->address;

	return (x > y) - (x < y);
}

/* Sums up samples in [start, end). */
static int64_t
samples_in(const struct maker *m, uint64_t start, uint64_t end)
{
	uint32_t lo = ROWS_WHILE(m->n, i, m->spots[i].address < start);
	int64_t sum = 0;

	for (; lo < m->n && m->spots[lo].address < end; lo++)
		sum += m->spots[lo].samples;
	return sum;
}

static int
take(void *arg, uint64_t start, uint64_t end, const struct local_place *places,
     uint32_t n, uint32_t copies)
{
	struct autofdo_frame frames[MOST_PLACES];
	struct maker *m = arg;

	if (!n || n > MOST_PLACES)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct local_place *at = &places[i];

		if (!*at->function || !at->line || !at->start_line)
			return 0;
		frames[n - 1 - i] = (struct autofdo_frame){
			at->function, (at->line - at->start_line) & MOST_OFFSET,
			at->discriminator};
	}
	return autofdo_add(m->made, frames, n, samples_in(m, start, end),
	                   copies, end - start);
}

/* Lists where the samples of a mapping are. */
static void
find_spots(struct maker *m, const struct profile *p, uint32_t mapping,
           uint32_t column)
{
	m->n = 0;
	for (uint32_t i = 0; i < p->nsamples; i++) {
		const struct sample *s = &p->samples[i];
		const struct location *l =
			s->nstack ? &p->locations[p->stack[s->stack0]] : NULL;

		if (l && l->mapping == mapping)
			m->spots[m->n++] = (struct spot){
				l->address,
				p->values[(size_t)i * p->ntypes + column]};
	}
	if (m->n)
		qsort(m->spots, m->n, sizeof(*m->spots), by_address);
	for (uint32_t i = 0; i < m->n; i++)
		m->addresses[i] = m->spots[i].address;
}

static int
maker_init(struct maker *m, const struct profile *p, uint32_t column)
{
	m->made = autofdo_new();
	m->spots = calloc((size_t)p->nsamples + 1, sizeof(*m->spots));
	m->addresses = calloc((size_t)p->nsamples + 1, sizeof(*m->addresses));
	for (uint32_t i = 0; i < p->nsamples; i++)
		m->all += p->values[(size_t)i * p->ntypes + column];
	return m->made && m->spots && m->addresses ? 0 : -ENOMEM;
}

int
places_autofdo(const struct cli *c, const struct profile *p, struct buf *out)
{
	CLEANUP_LOCAL_FILES struct local_files *files = local_files_new(false);
	CLEANUP(maker_done) struct maker m = {0};
	uint32_t column = profile_type_index(p, "samples"), used = 0;
	int rc = files ? import_binaries(c, files) : failed("no memory");

	if (rc)
		return rc;
	if (column == PROFILE_NONE)
		column = profile_type_index(p, NULL);
	rc = maker_init(&m, p, column);
	for (uint32_t i = 0; i < p->nmappings && !rc; i++) {
		find_spots(&m, p, i, column);
		if (!m.n)
			continue;
		rc = local_places(files, p, i, m.addresses, m.n, take, &m);
		used += !rc;
		if (rc == -ENOENT || rc == -ENODATA)
			rc = 0;
	}
	if (!rc && !used)
		return failed("%s: no program with the build-id of the "
		              "profile, and with debug information, is at the "
		              "paths given by --binary",
		              c->operands[0]);
	rc = rc ?: autofdo_write(m.made, m.all, out);
	return rc ? failed("%s: %s", c->operands[0], strerror(-rc)) : LEAVE_OK;
}

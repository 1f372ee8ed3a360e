#include "capture/local_places.h"

#include "capture/rename.h"
#include "capture/symbols/dwarf_file.h"
#include "capture/symbols/dwarf_sections.h"
#include "capture/symbols/dwarf_unit.h"
#include "local_files.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_PLACES 64

struct finder {
	struct buf sections, index;
	struct dwarf_file dwarf;
	struct dwarf_index units;
	uint64_t bias;
	local_places_take *take;
	void *arg;
};

static void
finder_done(struct finder *f)
{
	dwarf_file_done(&f->dwarf);
	buf_done(&f->sections);
	buf_done(&f->index);
}

/* --- discriminators ------------------------------------------------------- */

/*
 * LLVM packs three numbers into one: a base, which is the discriminator of the
 * source, how many copies of the code there are, and which of them this is.
 *
 * Source: getUnsignedFromPrefixEncoding() in DebugInfoMetadata.h of LLVM
 */
static uint32_t
first_of(uint32_t packed)
{
	if (packed & 1)
		return 0;
	packed >>= 1;
	return packed & 0x20 ? (packed >> 1 & 0xfe0) | (packed & 0x1f)
	                     : packed & 0x1f;
}

static uint32_t
rest_of(uint32_t packed)
{
	if (packed & 1)
		return packed >> 1;
	return packed >> (packed & 0x40 ? 14 : 7);
}

static uint32_t
copies_of(uint32_t packed)
{
	uint32_t n = first_of(rest_of(packed));

	return n ? n : 1;
}

/* --- runs of code --------------------------------------------------------- */

static int
take_row(const struct finder *f, const struct dwarf_unit *u, Dwarf_Line *row,
         Dwarf_Addr start, Dwarf_Addr end)
{
	struct dwarf_frame frames[MAX_PLACES];
	struct local_place places[MAX_PLACES];
	size_t n = dwarf_unit_lookup(u, start, frames, MAX_PLACES);
	unsigned packed = 0;

	if (dwarf_linediscriminator(row, &packed))
		packed = 0;
	for (size_t i = 0; i < n; i++)
		places[i] = (struct local_place){
			frames[i].name, frames[i].line, frames[i].start_line,
			first_of(i ? frames[i].discriminator : packed)};
	return f->take(f->arg, start + f->bias, end + f->bias, places,
	               (uint32_t)n, copies_of(packed));
}

/* A row of the table reaches to the next one. */
static int
take_rows(const struct finder *f, const struct dwarf_unit *u, Dwarf_Die *unit)
{
	Dwarf_Lines *rows;
	size_t n;
	int rc = 0;

	if (dwarf_getsrclines(unit, &rows, &n))
		return 0;
	for (size_t i = 0; i + 1 < n && !rc; i++) {
		Dwarf_Line *row = dwarf_onesrcline(rows, i);
		Dwarf_Addr start, end;
		bool ends = true;

		if (!dwarf_lineendsequence(row, &ends) && !ends &&
		    !dwarf_lineaddr(row, &start) &&
		    !dwarf_lineaddr(dwarf_onesrcline(rows, i + 1), &end) &&
		    start < end)
			rc = take_row(f, u, row, start, end);
	}
	return rc;
}

static int
take_unit(const struct finder *f, uint64_t at)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(SYMBOLS_MAX_PIECE);
	struct dwarf_unit u;
	Dwarf_Die unit;
	int rc = dwarf_offdie(f->dwarf.dw, at, &unit)
	                 ? dwarf_unit_build(&unit, NULL, NULL, &bytes)
	                 : -ENODATA;
	struct symbols_piece piece = {bytes.p, bytes.len};

	return rc ?: dwarf_unit_open(&piece, &u) ?: take_rows(f, &u, &unit);
}

/* --- the file ------------------------------------------------------------- */

static int
open_units(struct finder *f, const struct local_image *image)
{
	const struct symbols_piece none = {0};
	struct symbols_piece piece;
	int rc = image->debug ? dwarf_sections(image->debug, &f->sections)
	                      : -ENODATA;

	if (rc == -ENODATA) {
		buf_clear(&f->sections);
		rc = dwarf_sections(image->elf, &f->sections);
	}
	piece = (struct symbols_piece){f->sections.p, f->sections.len};
	rc = rc ?: dwarf_file_open(&piece, &none, &f->dwarf)
	                ?: dwarf_index_build(f->dwarf.dw, &f->index);
	piece = (struct symbols_piece){f->index.p, f->index.len};
	return rc ?: dwarf_index_open(&piece, &f->units);
}

static int
by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int
local_places(struct local_files *files, const struct profile *p,
             uint32_t mapping, const uint64_t *addresses, size_t n,
             local_places_take *take, void *arg)
{
	CLEANUP(finder_done)
	struct finder f = {.sections = BUF_INIT(SYMBOLS_MAX_PIECE),
	                   .index = BUF_INIT(SYMBOLS_MAX_PIECE),
	                   .take = take,
	                   .arg = arg};
	const struct mapping *m = &p->mappings[mapping];
	const struct local_image *image = local_image(
		files, profile_text(p, m->file), profile_text(p, m->build_id));
	CLEANUP_FREE uint64_t *units = calloc(n + 1, sizeof(*units));
	size_t nunits = 0;
	int rc = !image || !units ? -ENOMEM
	         : image->elf     ? rename_bias(image->elf, m, &f.bias)
	                          : -ENOENT;

	rc = rc ?: open_units(&f, image);
	for (size_t i = 0; i < n && !rc; i++)
		nunits += dwarf_index_lookup(&f.units, addresses[i] - f.bias,
		                             &units[nunits]);
	if (nunits)
		qsort(units, nunits, sizeof(*units), by_number);
	for (size_t i = 0; i < nunits && !rc; i++)
		if (!i || units[i] != units[i - 1])
			rc = take_unit(&f, units[i]);
	return rc;
}

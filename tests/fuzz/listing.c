/* Hostile listings, which are the content of a gzip member, and hostile
 * instructions: the same bytes as code. */
#include "profile/listing.h"

#include "capture/listing/disasm.h"
#include "lib/gzip_room.h"
#include "profile/export.h"

#include <assert.h>
#include <elf.h>
#include <string.h>

#define MAX_CODE 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Shows a listing beside a profile that has a line and an address of it, and
 * lines that no file has. */
static void
show(struct listing *l)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	const struct listing_source source = {.l = l};
	const struct export_meta meta = {.title = "",
	                                 .id = "",
	                                 .service = "",
	                                 .type = "cpu",
	                                 .listings = &source,
	                                 .nlistings = 1};
	struct mapping m = {0};
	struct function f = {0};
	struct line line[] = {
		{.line = 7}, {.line = INT64_MIN}, {.line = INT64_MAX}};
	uint32_t mapping, at;
	const int64_t one = 1;
	int r = profile_type(p, "cpu", "count")
	                ?: profile_cstring(p, "f", &f.name)
	                ?: profile_cstring(p, "/a", &f.file)
	                ?: profile_mapping(p, &m, &mapping)
	                ?: profile_function(p, &f, &line[0].function);

	line[1].function = line[2].function = line[0].function;
	r = r ? r
	      : profile_location(p, mapping, 7, line, ARRAY_LEN(line), &at)
	                ?: profile_sample(p, &at, 1, NULL, 0, &one)
	                ?: tree_new(p, 0, &t);

	assert(r == 0);
	r = format_find("listing")->write(t, &meta, &out);
	assert(r == 0);
}

/* A written listing must be readable. */
static void
write_again(const struct listing *l)
{
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_LISTING struct listing *again = NULL;
	int r = listing_encode(l, &file);

	assert(r == 0);
	r = listing_decode(file.p, file.len, &again);
	assert(r == 0);
	assert(again->nlines == l->nlines && again->ncode == l->ncode);
}

static void
disassemble(uint16_t machine, const uint8_t *data, size_t n)
{
	CLEANUP_DISASM struct disasm *d = NULL;
	struct disasm_code code = {data, n < MAX_CODE ? n : MAX_CODE, 0x1000};
	struct disasm_line line;
	int r = disasm_new(machine, &d);

	assert(r == 0);
	while (disasm_next(d, &code, &line))
		assert(line.size && strlen(line.text) < sizeof(line.text));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_LISTING struct listing *l = NULL;

	disassemble(EM_X86_64, data, n);
	disassemble(EM_AARCH64, data, n);
	gzip_room_keep();
	gzip_store(data, n, &file);
	if (listing_decode(file.p, file.len, &l))
		return 0;
	show(l);
	write_again(l);
	return 0;
}

#include "bucket_find.h"

#include "capture/gobin/go_code.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define MAX_CODE ((uint64_t)64 << 10) /* bytes of one function */
#define FIRST_GO 19

enum how { SHARED, OTHER };

static const struct {
	const char *function[2];
	enum go_use use[2];
	enum how how;
} rows[] = {
#define BUCKET_VARIABLE(name, f, fuse, g, guse, how) \
	{{f, g}, {GO_##fuse, GO_##guse}, how},
#include "bucket_variable.def"
#undef BUCKET_VARIABLE
};

#define ROWS ARRAY_LEN(rows)

/* Indexes of functions: the one that makes buckets, then two for each row of
 * rows[]. */
enum { MAKER, FIRST_ROW, FUNCTIONS = FIRST_ROW + 2 * ROWS };

struct finder {
	struct go_profiles *p;
	struct gobin_range at[FUNCTIONS];
	uint8_t *code; /* MAX_CODE bytes */
};

static void
finder_done(struct finder *f)
{
	free(f->code);
}

static void
find_functions(struct finder *f)
{
	const char *names[FUNCTIONS] = {[MAKER] = "runtime.stkbucket"};

	for (size_t i = 0; i < ROWS; i++) {
		names[FIRST_ROW + 2 * i] = rows[i].function[0];
		names[FIRST_ROW + 2 * i + 1] = rows[i].function[1];
	}
	/* If two functions have one name, only the first is found. */
	gobin_named(f->p->bin, names, FUNCTIONS, f->at);
}

/* Finds variables in [low, high) that a function uses in this way. */
static void
operands(struct finder *f, size_t function, enum go_use use, uint64_t low,
         uint64_t high, struct go_operands *out)
{
	const struct gobin_range *r = &f->at[function];
	uint64_t n = r->end - r->start, offset, left;

	out->n = 0;
	if (n > MAX_CODE)
		n = MAX_CODE;
	if (!r->end || !elf_offset_of(f->p->elf, r->start, &offset, &left))
		return;
	if (n > left)
		n = left;
	if (!elf_read(f->p->elf, offset, f->code, (size_t)n))
		go_code_operands(f->code, (size_t)n, r->start, use, low, high,
		                 out);
}

/*
 * Finds variables without pointers, such as rates, in the initialized and the
 * uninitialized data.
 */
static void
variables(struct finder *f, size_t function, enum go_use use,
          struct go_operands *out)
{
	const struct gobin_about *a = gobin_about(f->p->bin);

	operands(f, function, use, a->noptrdata, a->enoptrbss, out);
}

/* Returns the address of a row's variable; 0 when it could not be found. */
static uint64_t
find_variable(struct finder *f, size_t row, uint64_t before)
{
	struct go_operands o, other = {.at = {before}, .n = 1};

	variables(f, FIRST_ROW + 2 * row, rows[row].use[0], &o);
	if (rows[row].how == SHARED)
		variables(f, FIRST_ROW + 2 * row + 1, rows[row].use[1], &other);
	go_operands_keep(&o, &other, rows[row].how == SHARED);
	return o.n == 1 ? o.at[0] : 0;
}

/*
 * Finds the lists through the function that makes a bucket, which takes the
 * addresses of three lists: memory, mutex and block, in this order. The fourth
 * variable with pointers that it uses is the table of all buckets.
 */
static void
find_lists(struct finder *f)
{
	const struct gobin_about *a = gobin_about(f->p->bin);
	struct go_operands o, table;

	operands(f, MAKER, GO_ADDRESS, a->bss, a->ebss, &o);
	operands(f, MAKER, GO_LOAD, a->bss, a->ebss, &table);
	go_operands_keep(&o, &table, 0);
	if (o.n != GO_LISTS || table.n != 1)
		return;
	f->p->lists[GO_LIST_MEMORY] = o.at[0] + f->p->bias;
	f->p->lists[GO_LIST_MUTEX] = o.at[1] + f->p->bias;
	f->p->lists[GO_LIST_BLOCK] = o.at[2] + f->p->bias;
}

int
go_profiles_find(struct go_profiles *p)
{
	uint64_t *const out[] = {
#define BUCKET_VARIABLE(name, f, fuse, g, guse, how) &p->name,
#include "bucket_variable.def"
#undef BUCKET_VARIABLE
	};
	CLEANUP(finder_done)
	struct finder f = {.p = p, .code = malloc(MAX_CODE)};
	uint64_t vaddr = 0;

	p->minor = gobin_about(p->bin)->minor;
	if (p->elf->machine != EM_X86_64 || p->minor < FIRST_GO)
		return -EPROTO;
	if (!f.code)
		return -ENOMEM;
	find_functions(&f);
	find_lists(&f);
	for (size_t i = 0; i < ROWS; i++) {
		vaddr = find_variable(&f, i, vaddr);
		*out[i] = vaddr ? vaddr + p->bias : 0;
	}
	return 0;
}

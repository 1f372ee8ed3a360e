/* Instructions of the functions that cost most. */
#include "capture/naming/namer.h"
#include "disasm.h"
#include "parts.h"

#include "base/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CODE    ((size_t)64 << 10) /* bytes of one function */
#define LONG_CODE   4096 /* longer functions are listed in parts: */
#define NEAR_BYTES  192  /* only what is this near to an address with cost */
#define MAX_INLINED PROFILE_MAX_LINES

/* An address with a cost. */
struct hit {
	struct place at;
	uint64_t start; /* of its function */
	int64_t self;   /* of the address; in functions, of the function */
};

struct coder {
	struct namer *n;
	const struct profile *p;
	struct listing *l;
	struct hit *hits;      /* by module and address */
	struct hit *functions; /* the most expensive first */
	uint32_t nhits, nfunctions;
};

static void
coder_done(struct coder *c)
{
	free(c->hits);
	free(c->functions);
}

/* --- which functions ------------------------------------------------------ */

uint32_t
list_module(const struct namer *n, const struct profile *p, uint32_t mapping)
{
	const struct mapping *m = &p->mappings[mapping];

	for (uint32_t i = MODULE_FIRST; i < n->modules->n; i++) {
		const struct module *row = n->modules->rows[i];
		CLEANUP_BUF struct buf id = BUF_INIT(2 * ELF_MAX_BUILD_ID + 1);

		if (!row || !row->elf || row->outdated ||
		    strcmp(row->path, profile_text(p, m->file)) != 0)
			continue;
		buf_hex(&id, row->elf->build_id, row->elf->build_id_size);
		if (!strcmp(buf_str(&id), profile_text(p, m->build_id)))
			return i;
	}
	return MODULE_UNKNOWN;
}

/* Sums the cost of each location as the innermost of a stack. A value that
 * would overflow its sum is left out. */
static int64_t *
sum_leaves(const struct profile *p, uint32_t type)
{
	int64_t *self = calloc((size_t)p->nlocations + 1, sizeof(*self));

	for (uint32_t i = 0; i < p->nsamples && self; i++)
		if (p->samples[i].nstack)
			profile_add(&self[p->stack[p->samples[i].stack0]],
			            p->values[(size_t)i * p->ntypes + type]);
	return self;
}

static int
find_hits(struct coder *c, uint32_t type)
{
	CLEANUP_FREE int64_t *self = sum_leaves(c->p, type);
	CLEANUP_FREE uint32_t *modules =
		calloc((size_t)c->p->nmappings + 1, sizeof(*modules));

	c->hits = calloc((size_t)c->p->nlocations + 1, sizeof(*c->hits));
	if (!self || !modules || !c->hits)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->p->nmappings; i++)
		modules[i] = list_module(c->n, c->p, i);
	for (uint32_t i = 0; i < c->p->nlocations; i++) {
		const struct location *l = &c->p->locations[i];
		struct hit h = {.self = self[i], .at.vaddr = l->address};
		struct sym_frame named;

		if (h.self <= 0 || l->mapping == PROFILE_NONE)
			continue;
		h.at.module = modules[l->mapping];
		if (h.at.module == MODULE_UNKNOWN)
			continue;
		/* a look-up opens the module in the symbolizer */
		(void)namer_lookup(c->n, h.at, &named, 1);
		if (symbolizer_function(c->n->symbolizer, h.at.module,
		                        h.at.vaddr, &h.start))
			c->hits[c->nhits++] = h;
	}
	return 0;
}

static int
by_address(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	if (x->at.module != y->at.module)
		return (x->at.module > y->at.module) -
		       (x->at.module < y->at.module);
	return (x->at.vaddr > y->at.vaddr) - (x->at.vaddr < y->at.vaddr);
}

static int
by_cost(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	return x->self != y->self ? (x->self < y->self) - (x->self > y->self)
	                          : by_address(a, b);
}

static int
sum_functions(struct coder *c)
{
	c->functions = calloc((size_t)c->nhits + 1, sizeof(*c->functions));
	if (!c->functions)
		return -ENOMEM;
	qsort(c->hits, c->nhits, sizeof(*c->hits), by_address);
	for (uint32_t i = 0; i < c->nhits; i++) {
		struct hit *last = &c->functions[c->nfunctions - 1];

		if (!c->nfunctions || last->at.module != c->hits[i].at.module ||
		    last->start != c->hits[i].start)
			c->functions[c->nfunctions++] = c->hits[i];
		else
			profile_add(&last->self, c->hits[i].self);
	}
	qsort(c->functions, c->nfunctions, sizeof(*c->functions), by_cost);
	return 0;
}

/* True if an address with cost is near, in the same module. */
static bool
is_near(const struct coder *c, struct place at)
{
	const struct hit least = {
		.at = {at.module,
	               at.vaddr > NEAR_BYTES ? at.vaddr - NEAR_BYTES : 0}};
	uint32_t from =
		ROWS_WHILE(c->nhits, i, by_address(&c->hits[i], &least) < 0);

	return from < c->nhits && c->hits[from].at.module == at.module &&
	       c->hits[from].at.vaddr <= at.vaddr + NEAR_BYTES;
}

/* --- rows ----------------------------------------------------------------- */

static int
intern(struct coder *c, const char *text, uint32_t *out)
{
	return strings_add(c->l->strings, text, strlen(text), out);
}

/* Adds " <name>" of the function that an instruction calls or jumps to, if that
 * is another one. */
static void
add_target(struct coder *c, const struct hit *of, struct disasm_line *line)
{
	struct sym_frame found[MAX_INLINED];
	uint64_t start;
	size_t n, len = strlen(line->text);

	if (!line->target ||
	    !symbolizer_function(c->n->symbolizer, of->at.module, line->target,
	                         &start) ||
	    start == of->start)
		return;
	n = namer_lookup(c->n, (struct place){of->at.module, line->target},
	                 found, MAX_INLINED);
	if (n)
		snprintf(line->text + len, sizeof(line->text) - len, " <%s>",
		         found[n - 1].name);
}

static int
add_line(struct coder *c, const struct hit *of, struct disasm_line *line)
{
	struct listing_code row = {.address = line->address,
	                           .size = line->size};
	struct sym_frame found[MAX_INLINED];
	int rc = 0;

	if (namer_lookup(c->n, (struct place){of->at.module, line->address},
	                 found, MAX_INLINED)) {
		row.line = found[0].line > INT32_MAX ? 0 : found[0].line;
		rc = intern(c, found[0].name, &row.function)
		             ?: intern(c, found[0].file, &row.file);
	}
	add_target(c, of, line);
	return rc ?: intern(c, line->text, &row.text)
	             ?: listing_code(c->l, &row);
}

/* Reads the code from the start of a function on, up to MAX_CODE. */
static int
read_code(const struct elf_image *elf, uint64_t start, struct disasm_code *out,
          void **bytes)
{
	uint64_t offset, left;
	int rc;

	if (!elf_offset_of(elf, start, &offset, &left))
		return -ENOENT;
	if (left > MAX_CODE)
		left = MAX_CODE;
	rc = elf_copy(elf, offset, left, MAX_CODE, bytes);
	if (!rc)
		*out = (struct disasm_code){*bytes, left, start};
	return rc;
}

/* Shortens the code to that of the function at its start. */
static void
end_at_next(struct coder *c, const struct hit *of, struct disasm *d,
            struct disasm_code *code)
{
	struct disasm_code at = *code;
	struct disasm_line line;
	uint64_t start;

	do
		code->n = at.address - code->address;
	while (at.n &&
	       symbolizer_function(c->n->symbolizer, of->at.module, at.address,
	                           &start) &&
	       start == of->start && disasm_next(d, &at, &line));
}

static int
add_code(struct coder *c, const struct hit *of, struct disasm *d,
         struct disasm_code code)
{
	bool all;
	struct disasm_line line;
	int rc = 0;

	end_at_next(c, of, d, &code);
	all = code.n <= LONG_CODE;
	while (!rc && disasm_next(d, &code, &line))
		if (all ||
		    is_near(c, (struct place){of->at.module, line.address}))
			rc = add_line(c, of, &line);
	return rc;
}

static int
add_function(struct coder *c, const struct hit *of)
{
	const struct module *m = c->n->modules->rows[of->at.module];
	CLEANUP_DISASM struct disasm *d = NULL;
	CLEANUP_FREE void *bytes = NULL;
	struct listing_function row = {.start = of->start};
	CLEANUP_BUF struct buf id = BUF_INIT(2 * ELF_MAX_BUILD_ID + 1);
	struct sym_frame found[MAX_INLINED];
	struct disasm_code code;
	int rc = read_code(m->elf, of->start, &code, &bytes)
	                 ?: disasm_new(m->elf->machine, &d);
	size_t n;

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	n = namer_lookup(c->n, (struct place){of->at.module, of->start}, found,
	                 MAX_INLINED);
	buf_hex(&id, m->elf->build_id, m->elf->build_id_size);
	rc = (n ? intern(c, found[n - 1].name, &row.name) : 0)
	             ?: intern(c, m->path, &row.module)
	             ?: intern(c, buf_str(&id), &row.build_id)
	             ?: listing_function(c->l, &row);
	return rc ?: add_code(c, of, d, code);
}

int
list_code(struct namer *namer, const struct profile *p, uint32_t type,
          struct listing *l)
{
	CLEANUP(coder_done) struct coder c = {.n = namer, .p = p, .l = l};
	int rc = find_hits(&c, type) ?: sum_functions(&c);

	for (uint32_t i = 0; i < c.nfunctions && !rc; i++)
		rc = add_function(&c, &c.functions[i]);
	return rc == -E2BIG ? 0 : rc;
}

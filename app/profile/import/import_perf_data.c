/*
 * Reads recordings of perf: perf.data.
 *
 * Stacks are the kernel's, or are unwound from copies of registers and memory
 * by the caller's unwinder. Frames of files have an offset and a build-id but
 * no name; names can be added on a host that has the files.
 *
 * Source: perf_event_open(2), PERF_RECORD_SAMPLE; tools/perf/util/session.c and
 * machine.c of Linux 6.1.
 */
#include "perf_spaces.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/id.h"

#include <errno.h>
#include <string.h>

#define BRANCH_WORDS 3

struct perf_sample {
	uint64_t ip, time_ns, period;
	uint32_t pid, tid;
	const char *chain; /* nchain words */
	uint64_t nchain;
	struct import_stack stack;
	bool copied; /* it has registers and a copy of the stack */
};

/* A stack that was seen before. */
struct perf_stack {
	const char *chain;
	uint64_t nchain, version;
	uint32_t thread, row;
};

struct reader {
	struct perf_samples s;
	struct perf_file file;
	struct perf_spaces spaces;
	struct table table;
	struct perf_stack *seen;
	uint32_t nseen, seen_room;
	uint64_t key; /* for hashes */
	uint64_t lost, damaged;
	uint64_t pcs[PROFILE_MAX_FRAMES];
};

bool
input_perfdata_looks(const char *p, size_t n)
{
	return n >= 8 && !memcmp(p, "PERFILE2", 8);
}

/* --- samples -------------------------------------------------------------- */

static void
skip_words(struct perf_cursor *c, uint64_t n)
{
	(void)perf_bytes(c, n > SIZE_MAX / 8 ? SIZE_MAX : 8 * n);
}

/* Passes over the values of counters. */
static void
skip_read(struct perf_cursor *c, uint64_t format)
{
	bool group = format & PERF_FORMAT_GROUP;
	uint64_t n = group ? perf_u64(c) : 1, each = 1;

	each += (format & PERF_FORMAT_ID) != 0;
	each += (format & PERF_FORMAT_LOST) != 0;
	skip_words(c, (format & PERF_FORMAT_TOTAL_TIME_ENABLED) != 0);
	skip_words(c, (format & PERF_FORMAT_TOTAL_TIME_RUNNING) != 0);
	skip_words(c, n > SIZE_MAX / 32 ? SIZE_MAX : n * each);
}

static void
skip_branches(struct perf_cursor *c, uint64_t type)
{
	uint64_t n = perf_u64(c);

	skip_words(c, (type & PERF_SAMPLE_BRANCH_HW_INDEX) != 0);
	skip_words(c, n > SIZE_MAX / 32 ? SIZE_MAX : n * BRANCH_WORDS);
}

static void
take_registers(struct perf_cursor *c, uint64_t mask, struct perf_sample *out)
{
	uint64_t abi = perf_u64(c);

	for (unsigned i = 0; abi && i < 64; i++) {
		uint64_t v;

		if (!(mask >> i & 1))
			continue;
		v = perf_u64(c);
		if (i < IMPORT_REGS)
			out->stack.regs[i] = v;
	}
	out->copied = abi == PERF_SAMPLE_REGS_ABI_64;
}

static void
take_stack(struct perf_cursor *c, struct perf_sample *out)
{
	uint64_t size = perf_u64(c), filled;

	out->stack.bytes = perf_bytes(c, size);
	filled = size ? perf_u64(c) : 0;
	out->stack.n = filled < size ? filled : size;
}

/* Reads a sample, as far as the copy of its stack. */
static bool
take_sample(const struct perf_attr *attr, const struct perf_record *r,
            struct perf_sample *out)
{
	const struct perf_event_attr *a = &attr->a;
	uint64_t type = a->sample_type;
	struct perf_cursor c;

#define HAS(bit) (type & PERF_SAMPLE_##bit)
	*out = (struct perf_sample){.period = a->freq ? 1 : a->sample_period};
	(void)perf_record_body(r, &c);
	skip_words(&c, HAS(IDENTIFIER) != 0);
	out->ip = HAS(IP) ? perf_u64(&c) : 0;
	if (HAS(TID)) {
		out->pid = perf_u32(&c);
		out->tid = perf_u32(&c);
	}
	out->time_ns = HAS(TIME) ? perf_u64(&c) : 0;
	skip_words(&c, (HAS(ADDR) != 0) + (HAS(ID) != 0) +
	                       (HAS(STREAM_ID) != 0) + (HAS(CPU) != 0));
	if (HAS(PERIOD))
		out->period = perf_u64(&c);
	if (HAS(READ))
		skip_read(&c, a->read_format);
	out->nchain = HAS(CALLCHAIN) ? perf_u64(&c) : 0;
	out->chain = c.p;
	skip_words(&c, out->nchain);
	if (HAS(RAW))
		(void)perf_bytes(&c, perf_u32(&c));
	if (HAS(BRANCH_STACK))
		skip_branches(&c, a->branch_sample_type);
	if (HAS(REGS_USER))
		take_registers(&c, a->sample_regs_user, out);
	if (HAS(STACK_USER))
		take_stack(&c, out);
	out->copied = out->copied && HAS(STACK_USER);
#undef HAS
	return !c.bad;
}

/* --- stacks --------------------------------------------------------------- */

static int
push(struct reader *r, const struct perf_space *space, uint64_t ip)
{
	const struct perf_map *m = space ? perf_map_find(space, ip) : NULL;
	struct line line = {0};
	bool named = m && m->function != PROFILE_NONE;
	uint32_t location;

	if (named)
		line.function = m->function;
	return profile_location(r->s.im.p, m ? m->mapping : PROFILE_NONE,
	                        m ? ip - m->shift : ip, &line, named, &location)
	               ?: import_push(&r->s.im, location);
}

/* Returns the space that the marks of a chain, or the mode of a sample, refer
 * to; NULL for guests. */
static const struct perf_space *
space_named(const struct reader *r, const struct perf_space *user,
            uint64_t what)
{
	switch (what) {
	case PERF_CONTEXT_KERNEL:
	case PERF_CONTEXT_HV:
		return &r->spaces.kernel;
	case PERF_CONTEXT_USER:
		return user;
	default:
		return NULL;
	}
}

static uint64_t
mode_of(uint16_t misc)
{
	switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
	case PERF_RECORD_MISC_KERNEL:
	case PERF_RECORD_MISC_HYPERVISOR:
		return PERF_CONTEXT_KERNEL;
	case PERF_RECORD_MISC_USER:
		return PERF_CONTEXT_USER;
	default:
		return PERF_CONTEXT_GUEST;
	}
}

static bool
find_code(const void *arg, uint64_t address, struct import_code *out)
{
	const struct reader *r = ((const void *const *)arg)[0];
	const struct perf_space *space = ((const void *const *)arg)[1];
	const struct perf_map *m = perf_map_find(space, address);
	const struct profile *p = r->s.im.p;

	if (!m)
		return false;
	*out = (struct import_code){
		m->start, m->end, m->offset,
		profile_text(p, p->mappings[m->mapping].file),
		profile_text(p, p->mappings[m->mapping].build_id)};
	return true;
}

/* Pushes the frames of a copied stack. */
static int
push_copied(struct reader *r, struct perf_sample *s,
            const struct perf_space *user)
{
	const struct import_unwinder *u = r->s.im.ask->unwinder;
	const void *arg[] = {r, user};
	size_t n;
	int rc = 0;

	s->stack.machine = r->file.machine;
	s->stack.space = user->version;
	s->stack.find = find_code;
	s->stack.arg = arg;
	n = u->unwind(u->arg, &s->stack, r->pcs,
	              PROFILE_MAX_FRAMES - r->s.im.depth);
	for (size_t i = 0; i < n && !rc; i++)
		rc = push(r, user, r->pcs[i] - (i > 0));
	return rc || n ? rc : push(r, user, s->ip);
}

static int
push_stack(struct reader *r, struct perf_sample *s,
           const struct perf_space *user, uint64_t mode)
{
	const struct perf_space *space = space_named(r, user, mode);
	bool first = true;
	int rc = 0;

	for (uint64_t i = 0; i < s->nchain && !rc; i++) {
		uint64_t ip;

		memcpy(&ip, s->chain + 8 * i, sizeof(ip));
		if (ip >= (uint64_t)PERF_CONTEXT_MAX) {
			space = space_named(r, user, ip);
			continue;
		}
		/* all but the first are return addresses */
		rc = push(r, space, first ? ip : ip - 1);
		first = false;
	}
	if (!rc && s->copied)
		return push_copied(r, s, user);
	return rc || !first ? rc : push(r, space, s->ip);
}

/* --- equal stacks --------------------------------------------------------- */

struct perf_stack_key {
	const struct reader *r;
	const struct perf_stack *s;
};

static bool
same_stack(const void *key, uint32_t row)
{
	const struct perf_stack_key *w = key;
	const struct perf_stack *a = w->s, *b = &w->r->seen[row];

	return a->nchain == b->nchain && a->version == b->version &&
	       a->thread == b->thread &&
	       !memcmp(a->chain, b->chain, 8 * a->nchain);
}

static int
remember(struct reader *r, const struct perf_stack *s, uint64_t hash)
{
	int rc = ROWS_ROOM(r->seen, r->seen_room, r->nseen, 1)
	                 ?: table_room(&r->table);

	if (rc)
		return rc;
	r->seen[r->nseen] = *s;
	table_put(&r->table, hash, r->nseen++);
	return 0;
}

/* Adds a sample whose stack is its chain: most stacks recur. */
static int
add_chained(struct reader *r, struct perf_sample *s,
            const struct perf_space *user, uint64_t mode)
{
	const uint64_t words[] = {hash_keyed(r->key, s->chain, 8 * s->nchain),
	                          user->version, r->s.thread.str};
	uint64_t hash = hash_keyed(r->key, words, sizeof(words));
	struct perf_stack seen = {s->chain, s->nchain, user->version,
	                          r->s.thread.str, 0};
	const struct perf_stack_key key = {r, &seen};
	uint32_t at = table_find(&r->table, hash, same_stack, &key);
	int rc;

	if (at != TABLE_NONE)
		return perf_sample_again(&r->s, r->seen[at].row);
	rc = push_stack(r, s, user, mode) ?: perf_sample_end(&r->s);
	seen.row = r->s.im.row;
	return rc ?: remember(r, &seen, hash);
}

/* --- the file ------------------------------------------------------------- */

static int
refuse_copies(struct reader *r)
{
	return import_bad(
		&r->s.im,
		"it is perf.data recorded with --call-graph dwarf: its stacks "
		"can be unwound only with the programs at hand; send it with "
		"`stoker upload`, or convert it with `stoker convert`, on the "
		"machine where it was recorded");
}

static int
add_sample(struct reader *r, const struct perf_record *record)
{
	const struct perf_attr *attr = perf_file_attr(&r->file, record);
	const struct perf_space *user;
	struct perf_event_header h;
	struct perf_head head = {0};
	struct perf_sample s;
	uint32_t comm;
	int rc;

	memcpy(&h, record->at, sizeof(h));
	if (!attr || !take_sample(attr, record, &s)) {
		r->damaged++;
		return 0;
	}
	rc = perf_thread_name(&r->spaces, s.pid, s.tid, &comm)
	             ?: perf_space_of(&r->spaces, s.pid, &user);
	if (rc)
		return rc;
	head.comm.p = strings_get(r->s.im.p->strings, comm, &head.comm.n);
	head.event = (struct perf_text){attr->name, strlen(attr->name)};
	head.time_s = s.time_ns ? (double)s.time_ns / NS_PER_S : -1;
	head.period = (double)s.period;
	rc = perf_sample_begin(&r->s, &head);
	if (rc || r->s.other)
		return rc;
	if (s.copied && !r->s.im.ask->unwinder)
		return refuse_copies(r);
	if (!s.copied && s.nchain)
		return add_chained(r, &s, user, mode_of(h.misc));
	return push_stack(r, &s, user, mode_of(h.misc))
	               ?: perf_sample_end(&r->s);
}

static void
count_lost(struct reader *r, const struct perf_record *record, bool with_id)
{
	struct perf_cursor c;

	(void)perf_record_body(record, &c);
	skip_words(&c, with_id);
	r->lost += perf_u64(&c);
}

static int
read_record(struct reader *r, const struct perf_record *record)
{
	struct perf_event_header h;

	memcpy(&h, record->at, sizeof(h));
	switch (h.type) {
	case PERF_RECORD_SAMPLE:
		return add_sample(r, record);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		count_lost(r, record, h.type == PERF_RECORD_LOST);
		return 0;
	default:
		return perf_spaces_apply(&r->spaces, record);
	}
}

static void
note(struct reader *r, uint64_t n, const char *what)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	if (!n)
		return;
	buf_addf(&text, "%s: %llu", what, (unsigned long long)n);
	import_note(&r->s.im, buf_str(&text));
}

/*
 * Finds the first event of the recording that has samples: the event of the
 * first sample may merely have happened earlier.
 */
static const char *
first_event(const struct perf_file *f)
{
	const struct perf_attr *first = NULL;
	struct perf_event_header h;

	for (uint32_t i = 0; i < f->nrecords; i++) {
		const struct perf_attr *attr;

		memcpy(&h, f->records[i].at, sizeof(h));
		if (h.type != PERF_RECORD_SAMPLE)
			continue;
		attr = perf_file_attr(f, &f->records[i]);
		if (attr && (!first || attr < first))
			first = attr;
	}
	return first ? first->name : NULL;
}

static int
read_all(struct reader *r, const char *p, size_t n)
{
	int rc = perf_file_open(&r->file, &r->s.im, p, n);

	if (!rc)
		r->s.first = first_event(&r->file);
	perf_spaces_init(&r->spaces, &r->file);
	for (uint32_t i = 0; i < r->file.nrecords && !rc; i++)
		rc = read_record(r, &r->file.records[i]);
	note(r, r->lost, "samples that perf record lost");
	note(r, r->spaces.left_out,
	     "mappings of processes that have more than 8192, left out");
	note(r, r->damaged, "samples that are damaged");
	if (!rc && !r->s.nevents)
		rc = import_bad(&r->s.im, "it is perf.data without a sample");
	return rc;
}

static void
reader_done(struct reader **r)
{
	if (!*r)
		return;
	perf_spaces_done(&(*r)->spaces);
	perf_file_close(&(*r)->file);
	import_done(&(*r)->s.im);
	table_done(&(*r)->table);
	free((*r)->seen);
	free(*r);
}

int
input_perfdata_read(const char *p, size_t n, const struct import_ask *ask,
                    struct profile **out, struct buf *why)
{
	CLEANUP(reader_done) struct reader *r = calloc(1, sizeof(*r));
	int rc = r ? perf_samples_init(&r->s, ask, why) : -ENOMEM;

	if (rc)
		return rc;
	random_bytes(&r->key, sizeof(r->key));
	rc = read_all(r, p, n);
	return rc ? rc : perf_samples_end(&r->s, out);
}

/*
 * Records of waits and allocations from programs in the kernel: amounts that a
 * program asked for, and names of its files and peers. The first byte says
 * whether memory in use and Python are followed.
 */
#include "capture/process/wait_names.h"
#include "capture/recorder/trie.h"
#include "capture/sampler/sampler_private.h"

#include <assert.h>
#include <linux/perf_event.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* The parts of a capture. */
struct parts {
	struct sampler sampler;
	struct sampler_emitter emitter;
	struct interp_table table;
	struct proc_stack stack;
	struct process process; /* without mappings */
};

static volatile uint64_t sink; /* so that no read is optimised away */

static void
take_frames(struct sampler *s, const struct record *r)
{
	const struct interp_stack *found = interp_of_sample(s, r);

	for (uint32_t i = 0; found && i < found->n; i++)
		sink += found->frames[i].code;
}

static void
take(struct parts *p, struct wait_names *names, struct trie *t,
     struct record *r)
{
	static const struct place full = {MODULE_TRUNCATED, 0};
	struct proc_stack *s = &p->stack;
	uint32_t node;

	emitter_weigh(&p->emitter, r);
	take_frames(&p->sampler, r);
	s->n = r->sample.nchain % PROCS_MAX_STACK;
	for (size_t i = 0; i < s->n; i++) {
		s->places[i].module = MODULE_UNKNOWN;
		memcpy(&s->places[i].vaddr, r->sample.chain + 8 * i, 8);
	}
	wait_lead(names, r->sample.emitted, &p->process,
	          r->sample.emitted->holder ? r->sample.emitted->name : NULL,
	          s);
	assert(s->n <= PROCS_MAX_STACK);
	for (size_t i = 0; i < s->n; i++)
		if (s->places[i].module == MODULE_WAIT)
			assert(*wait_name_of(names, s->places[i].vaddr));
	assert(!trie_count(t, s->places, s->n, NULL, full, &r->sample.amount,
	                   &node));
}

static void
take_all(struct parts *p, struct wait_names *names, struct trie *t,
         const uint8_t *data, size_t n)
{
	struct perf_event_header h;
	struct record r;

	while (n >= sizeof(h)) {
		memcpy(&h, data, sizeof(h));
		if (h.size < sizeof(h) || h.size > n)
			return;
		if (!record_parse(data, h.size, true, &r) &&
		    r.kind == RECORD_SAMPLE)
			take(p, names, t, &r);
		data += h.size;
		n -= h.size;
	}
}

/* The sums in a profile must fit, whatever the records say. */
static void
sum(const struct trie *t)
{
	int64_t value = 0, bytes = 0, events = 0;

	for (uint32_t i = 0; i < t->counts_cap; i++) {
		const struct amount *a = &t->counts[i];

		assert(!__builtin_add_overflow(value, a->value, &value));
		assert(!__builtin_add_overflow(bytes, a->bytes, &bytes));
		assert(!__builtin_add_overflow(events, a->events, &events));
	}
	assert((uint64_t)value == t->total.value);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct inuse_set *sets;
	static struct parts p;
	struct wait_names *names;
	struct trie t;

	if (!n)
		return 0;
	if (!sets)
		sets = calloc(1, sizeof(*sets));
	names = wait_names_new();
	assert(names && sets && !trie_init(&t, 4096));
	p.emitter = (struct sampler_emitter){
		.sets = data[0] & 1 ? sets : NULL,
		.interp.table = data[0] & 2 ? &p.table : NULL,
	};
	p.sampler.emitter = &p.emitter;
	take_all(&p, names, &t, data + 1, n - 1);
	sum(&t);
	trie_done(&t);
	wait_names_free(names);
	return 0;
}

/*
 * Ends a capture: names its places, and turns its tree into a profile.
 */
#include "base/clock.h"
#include "base/path.h"
#include "capture/allocs.h"
#include "capture/naming/futex.h"
#include "capture/naming/location.h"
#include "capture/process/process_probes.h"
#include "capture/symbols/java_map.h"
#include "recorder_private.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define MOST_BYTES   (INT64_C(1) << 62)
#define MOST_UNNAMED 3 /* files that a report names */
/* Spans of a profile whose ids are kept: hours of windows are added up, with
 * all spans of each. */
#define MOST_SPANS        4096
#define MOST_WINDOW_SPANS 32

struct finisher {
	const struct capture *capture;
	struct profile *profile;
	struct quality *quality;
	struct namer *namer;
	uint32_t *locations;   /* by place */
	enum naming *naming;   /* by place */
	uint32_t *rows;        /* by node: its sample */
	bool *spans;           /* by span: its ids are kept */
	int64_t *unnamed;      /* by module: frames without a name */
	struct amount *in_use; /* by node; only for memory in use */
	int64_t locks;         /* samples in futex(2) that wait for a lock */
};

static void
finisher_done(struct finisher *f)
{
	free(f->locations);
	free(f->naming);
	free(f->rows);
	free(f->spans);
	free(f->unnamed);
	free(f->in_use);
	profile_free(f->profile);
}

static int
finisher_init(struct finisher *f)
{
	uint32_t places = f->capture->trie.places.n;
	uint32_t nodes = f->capture->trie.nodes.n;

	f->profile = profile_new();
	f->locations = calloc(places + 1, sizeof(*f->locations));
	f->naming = calloc(places + 1, sizeof(*f->naming));
	f->rows = calloc(nodes, sizeof(*f->rows));
	f->spans = calloc((size_t)context_rows_spans(&f->capture->contexts) + 1,
	                  sizeof(*f->spans));
	f->unnamed = calloc(MODULES_MAX, sizeof(*f->unnamed));
	if (f->capture->type == TYPE_memory)
		f->in_use = calloc(nodes, sizeof(*f->in_use));
	return f->profile && f->locations && f->naming && f->rows && f->spans &&
	                       f->unnamed && (f->in_use || !f->capture->rows)
	               ? 0
	               : -ENOMEM;
}

struct namer *
capture_namer(const struct capture *any, const struct host *host,
              struct symbols_cache *symbols)
{
	bool old = any->window || !capture_ended(any);

	return namer_new(any->modules, host, symbols, NULL, any->window,
	                 old ? JAVA_MAP_AGE_NS : 0);
}

/* --- rows of the profile -------------------------------------------------- */

/* Returns the first place in a program, else the first in any file, else 0. */
static uint32_t
find_program(const struct finisher *f)
{
	const struct pairs *places = &f->capture->trie.places;
	uint32_t file = 0;

	for (uint32_t i = 0; i < places->n; i++) {
		const struct module *m =
			f->namer->modules->rows[places->rows[i].a];

		if (!m || !m->elf || places->rows[i].a < MODULE_FIRST)
			continue;
		if (m->elf->is_program)
			return i;
		if (!file)
			file = i;
	}
	return file;
}

/* Adds the main program's mapping first, where readers expect it. */
static int
add_program(struct finisher *f)
{
	const struct pairs *places = &f->capture->trie.places;
	uint32_t i = find_program(f), mapping;

	if (!places->n)
		return 0;
	return finish_mapping(
		f->namer->modules, f->profile,
		(struct place){places->rows[i].a, places->rows[i].b}, &mapping);
}

static int
add_locations(struct finisher *f)
{
	int rc = 0;

	for (uint32_t i = 0; i < f->capture->trie.places.n && !rc; i++) {
		const struct pair *row = &f->capture->trie.places.rows[i];

		if (row->a == MODULE_CONTEXT)
			continue;
		rc = finish_location(f->namer, f->profile,
		                     (struct place){row->a, row->b},
		                     &f->locations[i], &f->naming[i]);
	}
	return rc;
}

static int64_t
objects_of(const struct amount *a)
{
	return (int64_t)(a->events + AMOUNT_EVENT / 2) / AMOUNT_EVENT;
}

/* Returns the number of frames of a stack, whose places are out[n], leaf first.
 */
static uint32_t
stack_of(const struct trie *t, uint32_t node, uint32_t out[PROFILE_MAX_FRAMES])
{
	uint32_t n = 0;

	for (uint32_t at = node; at != TRIE_ROOT; at = t->nodes.rows[at].a) {
		n -= n == PROFILE_MAX_FRAMES; /* the outermost is a title */
		out[n++] = (uint32_t)t->nodes.rows[at].b;
	}
	return n;
}

/* True if the function that a sample was taken in is not known. Nameless code
 * of an interpreter, such as a stripped PHP, runs for the function that it
 * interprets. */
static bool
is_nameless(const struct finisher *f, const uint32_t *places, uint32_t n)
{
	const struct pair *at = f->capture->trie.places.rows;
	const struct module *m;
	uint64_t leaf;
	uint32_t i = 0;

	if (!n || f->naming[places[0]] == NAMING_FUNCTION)
		return false;
	leaf = at[places[0]].a;
	m = f->namer->modules->rows[leaf];
	while (i < n && at[places[i]].a == leaf &&
	       f->naming[places[i]] != NAMING_FUNCTION)
		i++;
	return !m || !m->interp || i == n ||
	       at[places[i]].a < MODULE_LANGUAGES ||
	       at[places[i]].a >= MODULE_JITS;
}

static void
count_frames(struct finisher *f, const uint32_t *places, uint32_t n,
             int64_t count)
{
	bool unknown = false;

	f->quality->frames += n * count;
	for (uint32_t i = 0; i < n; i++) {
		if (f->naming[places[i]] == NAMING_FUNCTION)
			f->quality->symbolized += count;
		else
			f->unnamed[f->capture->trie.places.rows[places[i]].a] +=
				count;
		unknown |= f->naming[places[i]] == NAMING_UNKNOWN;
	}
	if (is_nameless(f, places, n))
		f->quality->nameless += count;
	if (n && f->naming[places[0]] == NAMING_UNKNOWN)
		f->quality->unknown += count;
	else if (unknown)
		f->quality->unknown_callers += count;
}

/* Returns how many places at the start of a stack stand for a lock that the BPF
 * programs found: its holder, if known, and the lock; 0 if they found none. */
static uint32_t
lock_places(const struct trie *t, const uint32_t *places, uint32_t n)
{
	for (uint32_t i = 0; i < n && i < 2; i++)
		if (t->places.rows[places[i]].a == MODULE_LOCK)
			return i + 1;
	return 0;
}

/*
 * For type mutex, sets *lock to whether the stack waits for a lock; otherwise
 * *lock means nothing. Names the reason for the wait, if it is known.
 *   Shape    as futex_wait_of(); a location of stack may be replaced
 *   Errors   as futex_location()
 */
static int
find_lock(struct finisher *f, const uint32_t *places, uint32_t *stack,
          uint32_t n, bool *lock)
{
	const bool only = f->capture->type == TYPE_mutex;
	uint32_t led = lock_places(&f->capture->trie, places, n), leaf;
	struct futex_wait wait = {NULL, true, false};

	if (led)
		wait.reason = futex_word_of(f->profile, stack + led, n - led);
	else if (only)
		wait = futex_wait_of(f->profile, stack, n);
	if (led && wait.reason)
		wait.lock = false;
	if (wait.hidden)
		f->quality->notes |= QUALITY_NOTE_OF(JAVA_PARKS);
	*lock = wait.lock;
	leaf = led ? led - 1 : 0; /* below a holder */
	return wait.reason && (wait.lock || !only)
	               ? futex_location(f->profile, stack[leaf], wait.reason,
	                                &stack[leaf])
	               : 0;
}

/* True for a stack whose outermost frame is a title, not code. */
static bool
is_titled(const struct trie *t, const uint32_t *places, uint32_t n)
{
	return n && t->places.rows[places[n - 1]].a == MODULE_TITLE;
}

/* Replaces the context, which is the first place of a stack, by labels. */
static int
take_context(struct finisher *f, uint32_t **places, uint32_t *n,
             struct label labels[static CONTEXT_LABELS], uint32_t *nlabels)
{
	const struct pair *first;

	*nlabels = 0;
	if (!*n)
		return 0;
	first = &f->capture->trie.places.rows[**places];
	if (first->a != MODULE_CONTEXT)
		return 0;
	++*places;
	--*n;
	return context_rows_labels(&f->capture->contexts, first->b,
	                           f->spans[context_span_of(first->b)],
	                           f->profile, labels, nlabels);
}

static int
add_sample(struct finisher *f, uint32_t node)
{
	const struct trie *t = &f->capture->trie;
	const struct amount *a = &t->counts[node];
	int64_t row[4] = {objects_of(a), (int64_t)a->value, (int64_t)a->bytes};
	uint32_t all[PROFILE_MAX_FRAMES], stack[PROFILE_MAX_FRAMES];
	uint32_t *places = all, n = stack_of(t, node, all), first = 0, nlabels;
	struct label labels[CONTEXT_LABELS];
	int rc = take_context(f, &places, &n, labels, &nlabels);
	bool lock;

	if (rc)
		return rc;
	for (uint32_t i = 0; i < n; i++)
		stack[i] = f->locations[places[i]];
	rc = find_lock(f, places, stack, n, &lock);
	if (rc)
		return rc;
	if (f->capture->type == TYPE_mutex) {
		if (!lock) {
			f->rows[node] = TAPE_NO_ROW;
			return 0;
		}
		f->locks += (int64_t)a->bytes;
	}
	count_frames(f, places, n - is_titled(t, places, n), row[0]);
	if (f->in_use) {
		row[2] = objects_of(&f->in_use[node]);
		row[3] = (int64_t)f->in_use[node].value;
	}
	if (f->in_use || f->capture->type == TYPE_alloc)
		first = locations_of_allocator(f->profile, stack, n,
		                               !f->in_use);
	return profile_sample_row(f->profile, &stack[first], n - first, labels,
	                          nlabels, row, &f->rows[node]);
}

struct span_sum {
	uint32_t span;
	uint64_t value;
};

static int
costlier(const void *a, const void *b)
{
	const struct span_sum *x = a, *y = b;

	return x->value != y->value
	               ? (x->value < y->value) - (x->value > y->value)
	               : (x->span > y->span) - (x->span < y->span);
}

/* Chooses the spans whose ids are kept: those with the most samples. */
static int
choose_spans(struct finisher *f)
{
	const struct trie *t = &f->capture->trie;
	const uint32_t n = context_rows_spans(&f->capture->contexts),
		       most = f->capture->window ? MOST_WINDOW_SPANS
	                                         : MOST_SPANS;
	CLEANUP_FREE struct span_sum *sums = calloc(n + 1, sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		sums[i].span = i + 1;
	for (uint32_t i = 1; i < t->counts_cap && i < t->nodes.n; i++) {
		const struct pair *p = &t->places.rows[t->nodes.rows[i].b];

		if (p->a == MODULE_CONTEXT && context_span_of(p->b))
			sums[context_span_of(p->b) - 1].value +=
				t->counts[i].value;
	}
	qsort(sums, n, sizeof(*sums), costlier);
	for (uint32_t i = 0; i < n && i < most; i++)
		f->spans[sums[i].span] = true;
	f->quality->spans_cut = n > most ? n - most : 0;
	return 0;
}

/* Reports the files that contain most of the frames without a name, most
 * first; nothing if most are in no file, such as generated code. */
static void
report_unnamed(struct finisher *f)
{
	const struct modules *modules = f->namer->modules;
	struct quality *q = f->quality;
	const int64_t all = q->frames - q->symbolized;
	int64_t listed = 0;
	size_t at = 0;

	for (int k = 0; k < MOST_UNNAMED; k++) {
		uint32_t most = MODULE_FIRST;
		const char *name;

		for (uint32_t i = most; i < modules->n; i++)
			if (f->unnamed[i] > f->unnamed[most])
				most = i;
		if (most >= modules->n || !modules->rows[most] ||
		    f->unnamed[most] * 10 <= all)
			break;
		name = path_name(modules->rows[most]->path);
		if (at + strlen(name) + 3 > sizeof(q->unnamed))
			break;
		listed += f->unnamed[most];
		f->unnamed[most] = 0;
		at += (size_t)snprintf(q->unnamed + at, sizeof(q->unnamed) - at,
		                       "%s%s", at ? ", " : "", name);
	}
	if (listed * 2 <= all)
		*q->unnamed = '\0';
}

static int
add_samples(struct finisher *f)
{
	const struct trie *t = &f->capture->trie;
	int rc = 0;

	for (uint32_t i = 0; i < t->counts_cap && i < t->nodes.n && !rc; i++)
		if (t->counts[i].events)
			rc = add_sample(f, i);
	report_unnamed(f);
	return rc;
}

/* Adds the unsure samples that turned out to be locks to the counts. Only
 * totals are known, so each count is scaled by the locks' share. */
static void
add_locks(const struct quality *unsure, int64_t locks, struct quality *q)
{
	if (!unsure->kept)
		return;
#define QUALITY(field, unit, json, doc)                             \
	q->field += llround((double)unsure->field * (double)locks / \
	                    (double)unsure->kept);
#include "capture/host/quality.def"
#undef QUALITY
	if (locks)
		q->runtimes |= unsure->runtimes;
}

/* Breaks cover all samples, locks or not, so their counts are scaled, too. */
static void
report_breaks(const struct capture *c, struct quality *q)
{
	const int64_t kept = q->kept, all = c->unsure.kept ?: kept;

	q->kept = all;
	breaks_report(&c->breaks, c->modules, q);
	q->kept = kept;
	for (uint32_t i = 0; i < q->nbreaks && all; i++)
		q->breaks[i].stacks = llround((double)q->breaks[i].stacks *
		                              (double)kept / (double)all);
}

static int
add_header(struct finisher *f, uint64_t duration_ns)
{
	struct profile *p = f->profile;
	const struct type *type = &profile_types[f->capture->type];
	int rc = type_values(type, p);

	if (!rc)
		rc = type_period(type, p);
	p->period = f->capture->source->kind == SAMPLER_CLOCK
	                    ? (int64_t)f->capture->source->period_ns
	                    : 1;
	p->time_ns = f->capture->start_ms * NS_PER_MS;
	p->duration_ns = (int64_t)duration_ns;
	return rc;
}

/* Returns the duration; a checkpoint is taken before the end. */
static uint64_t
duration_of(const struct capture *c)
{
	uint64_t until = c->drained_ns < c->end_ns ? c->drained_ns : c->end_ns;

	return until - c->start_ns;
}

/* If the timeline does not fit in memory, it is dropped and the profile kept.
 */
static void
add_timeline(const struct finisher *f, struct timeline **out)
{
	const struct capture *c = f->capture;
	struct timeline *t;

	if (!out || !c->tape || tape_timeline(c->tape, f->rows, &t))
		return;
	t->start_ns = c->start_ms * NS_PER_MS;
	t->duration_us = duration_of(c) / (uint64_t)NS_PER_US;
	t->period_ns = c->source->period_ns;
	t->cpus = c->source->all->conf.ncpus;
	*out = t;
}

/* Replaces the note INTERP_LATE by INTERP_BPF when the sampler can follow no
 * threads at all. */
static void
explain_interp(const struct sampler *s, struct quality *q)
{
	if (q->notes & QUALITY_NOTE_OF(INTERP_LATE) &&
	    !sampler_follows_interp(s))
		q->notes ^= QUALITY_NOTE_OF(INTERP_LATE) |
		            QUALITY_NOTE_OF(INTERP_BPF);
}

static bool
lacks_functions(const struct process *proc)
{
	return process_allocs_unwatched(proc) != NULL;
}

static bool
is_probed(const struct process *proc)
{
	return proc->nprobed > 0;
}

static bool
has_hidden(const struct process *proc)
{
	return process_allocs_hidden(proc) != 0;
}

/* True for a process that has, or had, probes. Probes that count allocations
 * must have been set by by_ns. */
static bool
is_reached(const struct capture *c, int32_t pid, uint64_t by_ns)
{
	const struct emit_slot *allocs =
		sampler_alloc_slots(c->source->sampler);
	const struct inuse_slot *inuse = sampler_slots(c->source->sampler);

	for (uint32_t i = 0; i < EMIT_SLOTS; i++)
		if ((allocs && allocs[i].pid == pid &&
		     allocs[i].began_ns <= by_ns) ||
		    (inuse && inuse[i].pid == pid &&
		     inuse[i].state != INUSE_UNUSED))
			return true;
	return false;
}

struct unreached {
	const struct capture *of;
	uint64_t now_ns;
	int64_t n;
};

/* A sum that may be off by more than this fraction is uncertain. */
#define SUM_SURE 0.15

/* Returns the time by which a process must have its probes: what it allocates
 * before that does not matter. */
static uint64_t
due_ns(const struct capture *c, const struct process *p)
{
	uint64_t begun = p->begun_ns ? p->begun_ns + ALLOCS_LATE_NS : 0;

	return (begun > c->start_ns ? begun : c->start_ns) +
	       (uint64_t)(SUM_SURE * (double)duration_of(c));
}

/* Counts a living process that should have probes, and has none yet or got them
 * late. */
static bool
count_unreached(const struct process *p, void *arg)
{
	struct unreached *u = arg;

	u->n += p->nprobed && !p->gone_ns &&
	        !process_allocs_missed(p, u->of->source->sampler, u->now_ns) &&
	        !is_reached(u->of, (int32_t)p->pid, due_ns(u->of, p));
	return false;
}

static int64_t
count_all_unreached(const struct capture *c)
{
	struct unreached unreached = {c, (uint64_t)clock_mono_ns(), 0};

	(void)procs_find(c->source->procs, UINT64_C(1) << c->slot,
	                 count_unreached, &unreached);
	return unreached.n;
}

/* Notes which parts of allocators are not watched. */
static void
conclude_probes(const struct capture *c, struct quality *q)
{
	const struct process *p = capture_any_process(c, lacks_functions);

	if (p) {
		q->notes |= QUALITY_NOTE_OF(UNWATCHED);
		strncpy(q->unwatched, process_allocs_unwatched(p),
		        sizeof(q->unwatched) - 1);
	}
	p = capture_any_process(c, has_hidden);
	if (p)
		q->hidden |= process_allocs_hidden(p);
	if (capture_any_process(c, process_allocs_nameless))
		q->notes |= QUALITY_NOTE_OF(NAMELESS);
	if (capture_any_process(c, process_allocs_32))
		q->notes |= QUALITY_NOTE_OF(ALLOCS_32);
	if (q->hidden)
		q->notes |= QUALITY_NOTE_OF(HIDDEN);
	if (c->type == TYPE_alloc && q->unwatched_ends > q->processes / 2)
		q->notes |= QUALITY_NOTE_OF(SHORT_LIVED);
	if (q->unreached)
		q->notes |= QUALITY_NOTE_OF(UNREACHED);
	if (capture_any_process(c, process_samples_itself))
		q->notes |= QUALITY_NOTE_OF(OWN_SAMPLER);
	if (capture_any_process(c, process_allocs_leaderless))
		q->notes |= QUALITY_NOTE_OF(LEADERLESS);
	if (capture_any_process(c, process_allocs_unopened))
		q->notes |= QUALITY_NOTE_OF(UNOPENED);
	if (capture_any_process(c, process_allocs_unseen))
		q->notes |= QUALITY_NOTE_OF(UNPROBED);
	else if (!(q->notes &
	           (QUALITY_NOTE_OF(UNOPENED) | QUALITY_NOTE_OF(ALLOCS_32))) &&
	         !q->kept && c->alive && !capture_any_process(c, is_probed))
		q->notes |= QUALITY_NOTE_OF(NO_ALLOCATOR);
}

static int64_t
bytes_of(double n)
{
	return n < (double)MOST_BYTES ? (int64_t)n : MOST_BYTES;
}

static bool
follows(const struct capture *c, const struct emit_slot *s)
{
	return procs_follows(c->source->procs, (uint32_t)s->pid,
	                     UINT64_C(1) << c->slot);
}

/* True if it is unknown what a process that is not watched has allocated
 * lately: inserting or removing probes takes long. */
static bool
is_unknown(const struct capture *c, const struct emit_slot *s)
{
	uint64_t most_ns = (uint64_t)(SUM_SURE * (double)duration_of(c)) +
	                   ALLOCS_LATE_NS;

	return !s->scale && s->began_ns &&
	       s->looked_ns + most_ns < c->start_ns + duration_of(c);
}

/* Returns the most bytes that no sample stands for, since a process was
 * watched only once, or was not looked at for a long time. */
static double
left_of(const struct capture *c)
{
	const struct emit_slot *slots = sampler_alloc_slots(c->source->sampler);
	double sum = 0;

	for (uint32_t i = 0; slots && i < EMIT_SLOTS; i++)
		if (follows(c, &slots[i]))
			sum += is_unknown(c, &slots[i]) ? INFINITY
			                                : (double)slots[i].left;
	return sum;
}

/* Samples of a slot have wrong shares if more than this many per thousand of
 * its calls were cut off, or made while the process did nothing else. */
#define MOST_WRONG 400

static quality_notes
wrong_shares(const struct capture *c)
{
	const struct emit_slot *slots = sampler_alloc_slots(c->source->sampler);
	quality_notes notes = 0;

	for (uint32_t i = 0; slots && i < EMIT_SLOTS; i++) {
		const struct emit_slot *s = &slots[i];

		if (s->cut + s->saturated <= MOST_WRONG || !follows(c, s))
			continue;
		notes |= s->cut < s->saturated ? QUALITY_NOTE_OF(SATURATED)
		                               : QUALITY_NOTE_OF(BEGINNINGS);
	}
	return notes;
}

/* Notes the bounds of the true value, unless the sum is certain. */
static int
conclude_sum(const struct finisher *f)
{
	const struct parts *p = &f->capture->parts;
	struct parts_bounds bounds = {p->seen, p->seen};
	struct quality *q = f->quality;
	bool sure;

	if (q->notes & QUALITY_NOTE_OF(IN_PARTS))
		bounds = parts_bounds(p);
	bounds.most += left_of(f->capture);
	q->notes |= wrong_shares(f->capture);
	if (f->capture->type == TYPE_alloc && q->lost)
		bounds.most = INFINITY;
	sure = bounds.least >= (1 - SUM_SURE) * p->sum &&
	       bounds.most <= (1 + SUM_SURE) * p->sum;
	if (sure && (f->capture->type != TYPE_alloc || !q->unreached))
		return 0;
	q->notes &= ~QUALITY_NOTE_OF(IN_PARTS);
	if (!sure) {
		q->notes |= QUALITY_NOTE_OF(SUM_ROUGH);
		q->allocated_least = bytes_of(bounds.least);
		q->allocated_most = bytes_of(bounds.most);
	}
	return profile_mark_rough(f->profile);
}

int
capture_profile(const struct capture *c, struct namer *namer,
                struct profile **out, struct quality *quality,
                struct timeline **timeline)
{
	struct quality q = c->quality;
	CLEANUP(finisher_done)
	struct finisher f = {.capture = c, .namer = namer, .quality = &q};
	const bool has_probes = c->type == TYPE_alloc || c->type == TYPE_memory;
	int rc = finisher_init(&f);

	namer_count(namer, &q);
	q.duration_ms = (int64_t)duration_of(c) / NS_PER_MS;
	q.dropped = (int64_t)c->trie.folded;
	q.halted_ms = (int64_t)c->halted_ns / NS_PER_MS;
	if (c->type == TYPE_cpu)
		q.cpu_ns = (int64_t)c->trie.total.value;
	q.stack_bytes = sampler_asked(c->source->sampler)->stack_bytes;
	q.notes |= sampler_notes(c->source->sampler);
	if (has_probes)
		q.unreached = count_all_unreached(c);
	if (!rc && f.in_use)
		rc = capture_rows_sum(c, f.in_use, &q);
	if (!rc)
		rc = add_header(&f, duration_of(c));
	if (!rc)
		rc = add_program(&f);
	if (!rc)
		rc = add_locations(&f);
	if (!rc)
		rc = choose_spans(&f);
	if (!rc)
		rc = add_samples(&f);
	if (!rc)
		rc = conclude_sum(&f);
	if (rc)
		return rc;
	add_locks(&c->unsure, f.locks, &q);
	report_breaks(c, &q);
	if (!c->alive)
		q.notes |= QUALITY_NOTE_OF(TARGET_GONE);
	if (has_probes)
		conclude_probes(c, &q);
	if (c->tape && c->tape->full)
		q.notes |= QUALITY_NOTE_OF(TIMELINE_FULL);
	if (f.in_use || !c->window)
		capture_use(c, namer->host, &q);
	rc = q.ran_ms ? profile_mark_waits(f.profile, q.ran_ms, q.waited_ms)
	              : 0;
	if (rc)
		return rc;
	add_timeline(&f, timeline);
	quality_conclude(&q, profile_types[c->type].name);
	explain_interp(c->source->sampler, &q);
	*quality = q;
	*out = TAKE(f.profile);
	return 0;
}

/* Stacks of a busy program, walked by us and by libunwind. */
#include "lib/corpus.h"
#include "lib/test.h"
#include "lib/unwind_libunwind.h"

#include <asm/perf_regs.h>
#include <limits.h>
#include <string.h>

#define STACKS     1000
#define MAX_FRAMES 512
/* How many of 1000 stacks may differ for reasons that are not understood. */
#define MAY_DIFFER 2

struct walked {
	uint64_t pcs[MAX_FRAMES];
	size_t n;
	enum unwind_end end;
};

#define STEPS 20000
#define EVERY 7 /* instructions: covers about all that deep runs */

static struct corpus *
record(const char *name, char *first, char *second)
{
	char path[PATH_MAX];
	char *argv[] = {path, first, second, NULL};
	struct corpus *c = NULL;

	corpus_target(name, path, sizeof(path));
	if (second)
		ck_assert_int_eq(corpus_record(argv, STACKS, &c), 0);
	else
		ck_assert_int_eq(corpus_record_steps(argv, STEPS, EVERY, &c),
		                 0);
	return c;
}

/* Below a signal handler our addresses are one byte higher: see unwind(). */
static bool
same(const struct walked *ours, const struct walked *theirs)
{
	if (ours->end != theirs->end || ours->n != theirs->n)
		return false;
	for (size_t i = 0; i < ours->n; i++)
		if (ours->pcs[i] - theirs->pcs[i] > 1)
			return false;
	return true;
}

static void
print(const struct corpus *c, const char *who, const struct walked *w)
{
	const struct corpus_map *m;

	printf("%s: end %d:", who, w->end);
	for (size_t i = 0; i < w->n; i++) {
		m = corpus_map(c, w->pcs[i]);
		printf(" %s+%#lx", m ? m->name : "?",
		       w->pcs[i] - (m ? m->m.bias : 0));
	}
	printf("\n");
}

/*
 * Returns whether our walk is the right one. libunwind gave up, and the callers
 * that we found are those of the sample a few instructions earlier, which both
 * walked alike. This happens in an epilogue that no table describes: libunwind
 * looks for the frame pointer in the slot it was popped from, below sp.
 */
static bool
is_explained(const struct walked *ours, const struct walked *theirs,
             const struct walked *before)
{
	size_t n = ours->n - 1;

	return ours->end == UNWIND_ROOT && theirs->end == UNWIND_BAD &&
	       theirs->n < ours->n && n <= before->n &&
	       !memcmp(theirs->pcs, ours->pcs,
	               theirs->n * sizeof(*ours->pcs)) &&
	       !memcmp(ours->pcs + 1, before->pcs + before->n - n,
	               n * sizeof(*ours->pcs));
}

static void
assert_agreement(struct corpus *c)
{
	CLEANUP_UNWINDER struct unwinder *u = unwinder_new(corpus_find, c);
	CLEANUP_RIVAL struct rival *r = rival_new(c);
	size_t differ = 0, explained = 0, roots = 0;
	struct walked ours, theirs, before = {.n = 0};

	ck_assert(u && r);
	for (size_t i = 0; i < c->n; i++) {
		const struct corpus_sample *s = &c->samples[i];

		ours.end = unwind(u, s->regs, s->stack, s->stack_len, ours.pcs,
		                  MAX_FRAMES, &ours.n);
		theirs.end =
			rival_unwind(r, s, theirs.pcs, MAX_FRAMES, &theirs.n);
		roots += ours.end == UNWIND_ROOT && ours.n > 1;
		if (same(&ours, &theirs)) {
			before = ours;
		} else if (is_explained(&ours, &theirs, &before)) {
			explained++;
		} else {
			differ++;
			print(c, "ours", &ours);
			print(c, "libunwind", &theirs);
		}
	}
	printf("%zu stacks: %zu others, %zu of them libunwind's fault\n", c->n,
	       differ + explained, explained);
	ck_assert_msg(differ * 1000 <= c->n * MAY_DIFFER, "%zu of %zu differ",
	              differ, c->n);
	/* The walks must reach the root, since they could agree on errors. */
	ck_assert_uint_gt(roots, c->n * 9 / 10);
}

TEST(stacks_of_a_threaded_program_are_as_libunwind_walks_them)
{
	CLEANUP_CORPUS struct corpus *c = record("demo", "2", "100");

	assert_agreement(c);
}
END

/* Walks deep() from its first instruction to the signal handler in which it
 * stops. */
TEST(stacks_at_every_few_instructions_are_as_libunwind_walks_them)
{
	CLEANUP_CORPUS struct corpus *c = record("deep", "signal", NULL);

	assert_agreement(c);
}
END

/* The registers of a blocked thread are known here. The test leaves them out,
 * and the walk must find them again. */
TEST(stacks_are_walked_alike_from_pc_and_sp_alone)
{
	CLEANUP_CORPUS struct corpus *c = record("demo", "2", "100");
	CLEANUP_UNWINDER struct unwinder *u = unwinder_new(corpus_find, c);
	struct walked full, bare;
	size_t differ = 0, blocked = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct corpus_sample *s = &c->samples[i];

		full.end = unwind(u, s->regs, s->stack, s->stack_len, full.pcs,
		                  MAX_FRAMES, &full.n);
		/* After a system call rcx equals rip, so the thread was
		 * blocked. */
		if (full.end != UNWIND_ROOT ||
		    s->regs[PERF_REG_X86_CX] != s->regs[PERF_REG_X86_IP])
			continue;
		blocked++;
		bare.end = unwind_blocked(u, s->regs[PERF_REG_X86_IP],
		                          s->regs[PERF_REG_X86_SP], NULL,
		                          s->stack, s->stack_len, bare.pcs,
		                          MAX_FRAMES, &bare.n);
		if (!same(&full, &bare)) {
			differ++;
			print(c, "all registers", &full);
			print(c, "pc and sp", &bare);
		}
	}
	ck_assert_uint_gt(blocked, 10);
	ck_assert_uint_eq(differ, 0);
}
END

SUITE("unwind_rival");

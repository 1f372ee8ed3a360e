#include "goroutine_threads.h"

#include "capture/threads.h"
#include "goroutine_read.h"

#include <errno.h>
#include <string.h>

#if defined(__x86_64__)
#define REGS_PC(regs) ((regs)->rip)
#define REGS_SP(regs) ((regs)->rsp)
#elif defined(__aarch64__)
#define REGS_PC(regs) ((regs)->pc)
#define REGS_SP(regs) ((regs)->sp)
#endif

#define MAX_RUNNING 128                  /* threads read in one round */
#define THREAD_ROOM ((uint32_t)32 << 10) /* bytes of a stack, at first */

void
go_threads_done(struct go_threads *t)
{
	snapshot_batch_done(&t->batch);
}

/* --- choosing threads ----------------------------------------------------- */

static bool
has(const int32_t *list, size_t n, int32_t tid)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == tid)
			return true;
	return false;
}

/* Reads the numbers of the threads that goroutines say they run on. */
static int
read_procids(const struct go_runtime *r, const struct go_g *g, size_t n,
             struct memory_piece pieces[MAX_RUNNING], size_t *out,
             struct memory_batch *b)
{
	*out = 0;
	for (size_t i = 0; i < n && *out < MAX_RUNNING; i++)
		if (g[i].status == GO_RUNNING && g[i].m)
			pieces[(*out)++] = (struct memory_piece){
				.addr = g[i].m + r->layout.procid,
				.len = sizeof(uint64_t),
			};
	return *out ? memory_read(r->mem, pieces, *out, b) : 0;
}

/*
 * Chooses the threads in said that the process has. Their ids are of the
 * runtime's pid namespace: if the process lacks one, all threads are chosen.
 */
static size_t
pick(const struct memory_piece *said, size_t n, const struct buf *tasks,
     int32_t out[MAX_RUNNING])
{
	const int32_t *all = (const void *)tasks->p;
	size_t nall = tasks->len / sizeof(*all), count = 0;
	bool foreign = false;

	for (size_t i = 0; i < n; i++) {
		uint64_t tid = 0;

		if (said[i].got == sizeof(tid))
			memcpy(&tid, said[i].p, sizeof(tid));
		if (tid > INT32_MAX || !has(all, nall, (int32_t)tid))
			foreign = true;
		else if (!has(out, count, (int32_t)tid))
			out[count++] = (int32_t)tid;
	}
	for (size_t i = 0; foreign && i < nall && count < MAX_RUNNING; i++)
		if (!has(out, count, all[i]))
			out[count++] = all[i];
	return count;
}

static int
find_threads(const struct go_runtime *r, const struct go_g *g, size_t n,
             int32_t out[MAX_RUNNING], size_t *nout)
{
	CLEANUP(memory_batch_done) struct memory_batch b = {.n = 0};
	CLEANUP_BUF struct buf tasks =
		BUF_INIT(sizeof(int32_t[HOST_MAX_THREADS]));
	struct memory_piece said[MAX_RUNNING];
	size_t nsaid;
	int rc = read_procids(r, g, n, said, &nsaid, &b);

	*nout = 0;
	if (rc || !nsaid)
		return rc;
	rc = threads_list(r->mem->host, r->mem->pid, &tasks);
	if (!rc)
		*nout = pick(said, nsaid, &tasks, out);
	return rc;
}

/* --- places of threads ---------------------------------------------------- */

static void
count(const struct go_threads *t, struct go_read_stats *stats)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct thread_row *row = snapshot_row(&t->batch, i);

		stats->stopped += row->how == THREAD_STOPPED;
		stats->stopped_ns += row->stop_ns;
	}
}

int
go_threads_read(struct go_threads *t, const struct go_runtime *r,
                const struct go_g *g, size_t n, uint32_t room,
                struct go_read_stats *stats)
{
	int32_t tids[MAX_RUNNING];
	size_t ntids;
	int rc = find_threads(r, g, n, tids, &ntids);

	if (rc || !ntids)
		return rc;
	room = room > THREADS_MAX_STACK ? THREADS_MAX_STACK : THREAD_ROOM;
	rc = snapshot_batch_read(r->mem->host, r->mem->pid, tids, ntids, room,
	                         &t->batch);
	if (rc)
		return rc == -ESRCH ? 0 : rc;
	t->n = ntids;
	count(t, stats);
	return 0;
}

/* Finds where a thread is; false when unknown. */
static bool
place_of(const struct thread_row *row, const struct thread_seen *seen,
         uint64_t *pc, uint64_t *sp)
{
	bool stopped = row->how == THREAD_STOPPED;

	*pc = stopped ? REGS_PC(&row->regs) : seen->pc;
	*sp = stopped ? REGS_SP(&row->regs) : seen->sp;
	return stopped || row->how == THREAD_BLOCKED;
}

bool
go_threads_place(const struct go_threads *t, const struct go_g *g,
                 struct go_place *out)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct thread_row *row = snapshot_row(&t->batch, i);
		uint32_t len = row->stack_bytes;
		uint64_t pc, sp;

		if (!place_of(row, &t->batch.seen[i], &pc, &sp) || sp < g->lo ||
		    sp >= g->hi)
			continue;
		*out = (struct go_place){
			.pc = pc,
			.sp = sp,
			.exact = true,
			.hi = g->hi,
			.stack = snapshot_stack(&t->batch, i),
			.len = len < t->batch.room ? len : t->batch.room,
		};
		return true;
	}
	return false;
}

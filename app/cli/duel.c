/*
 * stoker duel: runs two programs in turn, until it is certain which of them
 * costs more CPU time, or that neither does.
 *
 * A coin decides which program of a pair runs first; the test depends on that
 * (profile/duel.h). The first run of each program, with cold caches, does not
 * count.
 */
#include "cli.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "profile/duel.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUDGET_S 300
#define GATE     "2" /* percent */
#define GATE_MAX 100
#define SHORT_MS 20 /* starting a program takes a large part of a shorter run */

struct spent {
	double cpu_s, wall_s;
};

struct rival {
	const char *const *argv;
	const char *name;
	struct spent runs[DUEL_MAX_PAIRS];
};

struct match {
	struct rival rivals[2];
	struct duel *duel;
	enum duel_verdict verdict;
	double gate; /* 0.02 */
	int64_t end_ns;
	const struct cli *cli;
};

static void
match_free(struct match *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < ARRAY_LEN(m->rivals); i++)
		free((void *)m->rivals[i].argv);
	duel_free(m->duel);
	free(m);
}
DEFINE_CLEANUP(struct match *, match_free)

static volatile sig_atomic_t interrupted;

static void
on_interrupt(int number)
{
	(void)number;
	interrupted = 1;
}

/* --- one run -------------------------------------------------------------- */

static void
run_program(const char *const argv[])
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	signal(SIGINT, SIG_DFL);
	execvp(argv[0], (char *const *)argv);
	fprintf(stderr, "stoker: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static double
seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* Runs a program to its end, and counts the descendants that it waits for.
 * Returns LEAVE_OK, or an exit status. */
static int
run(const struct rival *r, struct spent *out)
{
	int64_t began = clock_mono_ns();
	struct rusage used;
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return failed("fork: %s", strerror(errno));
	if (!pid)
		run_program(r->argv);
	while (wait4(pid, &status, 0, &used) < 0)
		if (errno != EINTR)
			return failed("wait4: %s", strerror(errno));
	if (interrupted)
		return LEAVE_INTERRUPTED;
	if (WIFSIGNALED(status))
		return failed("%s was ended by signal %d", r->name,
		              WTERMSIG(status));
	if (WEXITSTATUS(status))
		return failed("%s failed with status %d: both programs must "
		              "succeed",
		              r->name, WEXITSTATUS(status));
	*out = (struct spent){seconds_of(used.ru_utime) +
	                              seconds_of(used.ru_stime),
	                      (double)(clock_mono_ns() - began) / NS_PER_S};
	return LEAVE_OK;
}

/* --- pairs ---------------------------------------------------------------- */

static size_t
coin(void)
{
	unsigned char byte = 0;

	(void)!getrandom(&byte, sizeof(byte), 0);
	return byte & 1;
}

static int
run_pair(struct match *m, size_t at)
{
	size_t first = coin();
	int rc = run(&m->rivals[first], &m->rivals[first].runs[at]);

	return rc ? rc : run(&m->rivals[!first], &m->rivals[!first].runs[at]);
}

static void
show_progress(const struct match *m)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%zu pairs\033[K", duel_pairs(m->duel));
}

/* Plays until the verdict is certain, the time has elapsed, or Ctrl-C. */
static int
play(struct match *m)
{
	int rc = run_pair(m, 0); /* does not count: caches are cold */

	while (!rc && m->verdict == DUEL_OPEN &&
	       duel_pairs(m->duel) < DUEL_MAX_PAIRS &&
	       clock_mono_ns() < m->end_ns) {
		size_t at = duel_pairs(m->duel);
		double a, b;

		rc = run_pair(m, at);
		if (rc)
			break;
		a = m->rivals[0].runs[at].cpu_s;
		b = m->rivals[1].runs[at].cpu_s;
		if (a <= 0 || b <= 0)
			return failed("the programs end before their CPU time "
			              "can be measured: have them do more");
		m->verdict = duel_add(m->duel, log(b / a));
		show_progress(m);
	}
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	return rc;
}

/* --- the result ----------------------------------------------------------- */

static int
by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Returns the median CPU time, or elapsed time, of a program's runs, in ms. */
static double
median_ms(const struct match *m, size_t rival, bool wall)
{
	static double v[DUEL_MAX_PAIRS];
	size_t n = duel_pairs(m->duel);

	for (size_t i = 0; i < n; i++)
		v[i] = wall ? m->rivals[rival].runs[i].wall_s
		            : m->rivals[rival].runs[i].cpu_s;
	qsort(v, n, sizeof(*v), by_size);
	return n ? 1000 * (v[(n - 1) / 2] + v[n / 2]) / 2 : 0;
}

static double
percent(double factor)
{
	return 100 * (factor - 1);
}

static void
put_verdict(const struct match *m, const struct duel_factor *f, struct buf *out)
{
	size_t n = duel_pairs(m->duel);

	switch (m->verdict) {
	case DUEL_SLOWER:
		buf_addf(out, "B costs %.1f %% more CPU time than A",
		         percent(f->factor));
		break;
	case DUEL_FASTER:
		buf_addf(out, "B costs %.1f %% less CPU time than A",
		         -percent(f->factor));
		break;
	case DUEL_SAME:
		buf_addf(out,
		         "B costs as much CPU time as A, give or take %g %%",
		         100 * m->gate);
		break;
	case DUEL_OPEN:
		buf_addf(out, "not certain after %zu pairs: B costs %+.1f %%",
		         n, percent(f->factor));
	}
	if (f->from > 0 && isfinite(f->to))
		buf_addf(out, ": %+.1f to %+.1f %%", percent(f->from),
		         percent(f->to));
	if (m->verdict != DUEL_OPEN)
		buf_addf(out, ", %zu pairs", n);
	buf_putc(out, '\n');
	if (m->verdict == DUEL_OPEN)
		buf_puts(out, "  --seconds gives it more time, and --gate a "
		              "larger change to look for\n");
}

static void
put_rivals(const struct match *m, struct buf *out)
{
	bool waits = false, is_short = false;

	for (size_t i = 0; i < ARRAY_LEN(m->rivals); i++) {
		double cpu = median_ms(m, i, false),
		       wall = median_ms(m, i, true);

		buf_addf(out, "  %c  %9.1f ms of CPU %9.1f ms  %s\n", "AB"[i],
		         cpu, wall, m -> rivals[i].name);
		waits |= cpu < wall / 2;
		is_short |= cpu < SHORT_MS;
	}
	if (is_short)
		buf_puts(out,
		         "  A run is so short that its start matters: have "
		         "the programs do more.\n");
	else if (waits)
		buf_puts(out, "  For more than half of the time they waited, "
		              "also for a CPU: this is not\n  compared.\n");
}

/* Prints how to find the functions that differ. */
static void
put_next(const struct match *m, struct buf *out)
{
	if (m->verdict == DUEL_SLOWER || m->verdict == DUEL_FASTER)
		buf_puts(out, "  To find out where: stoker record --output "
		              "FILE -- each of them, then upload\n"
		              "  both files, and stoker compare.\n");
}

static void
put_json(const struct match *m, const struct duel_factor *f, struct buf *out)
{
	static const char *const words[] = {[DUEL_OPEN] = "insufficient",
	                                    [DUEL_SAME] = "same",
	                                    [DUEL_SLOWER] = "slower",
	                                    [DUEL_FASTER] = "faster"};

	json_open(out, NULL, '{');
	json_put_text(out, "verdict", words[m->verdict]);
	json_put_int(out, "pairs", (int64_t)duel_pairs(m->duel));
	json_put_real(out, "gate", m->gate);
	json_put_real(out, "factor", f->factor);
	json_put_known(out, "from", f->from, f->from > 0);
	json_put_known(out, "to", f->to, isfinite(f->to));
	json_open(out, "programs", '[');
	for (size_t i = 0; i < ARRAY_LEN(m->rivals); i++) {
		json_open(out, NULL, '{');
		json_put_text(out, "name", m->rivals[i].name);
		json_put_real(out, "cpuMs", median_ms(m, i, false));
		json_put_real(out, "ms", median_ms(m, i, true));
		json_close(out, '}');
	}
	json_close(out, ']');
	json_close(out, '}');
	buf_putc(out, '\n');
}

static int
tell(const struct match *m)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	const struct duel_factor f = duel_factor(m->duel);

	if (m->cli->opt.json) {
		put_json(m, &f, &out);
	} else {
		put_verdict(m, &f, &out);
		put_rivals(m, &out);
		put_next(m, &out);
	}
	if (print(&out))
		return LEAVE_FAILED;
	return m->verdict == DUEL_SLOWER ? LEAVE_FAILED
	       : m->verdict == DUEL_OPEN ? LEAVE_UNJUDGED
	                                 : LEAVE_OK;
}

/* --- the command ---------------------------------------------------------- */

static int
read_gate(const struct cli *c, double *out)
{
	const char *text = c->opt.gate ? c->opt.gate : GATE;
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v > 0) || v > GATE_MAX)
		return usage_error("--gate is a number of percent above 0, up "
		                   "to %d",
		                   GATE_MAX);
	*out = v / 100;
	return LEAVE_OK;
}

/* Makes the arguments of a program: the operands after A and B go to both. */
static int
make_rival(const struct cli *c, size_t which, struct rival *out)
{
	size_t nargs = c->noperands - 2;
	const char **argv = calloc(nargs + 2, sizeof(*argv));

	if (!argv)
		return failed("%s", strerror(ENOMEM));
	argv[0] = out->name = c->operands[which];
	memcpy(&argv[1], &c->operands[2], nargs * sizeof(*argv));
	out->argv = argv;
	return LEAVE_OK;
}

int
cmd_duel(struct cli *c)
{
	CLEANUP(match_free_ptr) struct match *m = calloc(1, sizeof(*m));
	int rc;

	if (!m)
		return failed("%s", strerror(ENOMEM));
	m->cli = c;
	rc = read_gate(c, &m->gate);
	for (size_t i = 0; i < ARRAY_LEN(m->rivals) && !rc; i++)
		rc = make_rival(c, i, &m->rivals[i]);
	if (rc)
		return rc;
	m->duel = duel_new(m->gate);
	if (!m->duel)
		return failed("%s", strerror(ENOMEM));
	m->end_ns = clock_mono_ns() +
	            (c->opt.seconds >= 0 ? c->opt.seconds : BUDGET_S) *
	                    NS_PER_S;
	signal(SIGINT, on_interrupt);
	rc = play(m);
	if (rc == LEAVE_FAILED)
		return LEAVE_UNJUDGED; /* an error was printed */
	return rc ? rc : tell(m);
}

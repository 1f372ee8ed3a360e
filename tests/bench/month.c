/*
 * Fills a store with what continuous profiling has left of a month.
 *
 *	month STORE_DIR TENANT END_MS SERVICES PROFILE...
 *
 * Services bench0, bench1, ... run for 30 days before END_MS, each like one of
 * the recorded programs, sampled at 19 Hz, and use between a hundredth of a CPU
 * and a whole one, more by day than by night. What the worker would have left
 * is made level by level, by the functions that the worker makes it with:
 * windows of 10 s of the last two hours, minutes of seven days, and hours and
 * days of all 30, in files as the worker's. A rollup of windows that still
 * exist is their sum; a rollup of windows that are gone by now is drawn as a
 * whole, which is the same draw (lib/draw.h).
 *
 * Prints one line: windows, bytes, samples, each sample counted once.
 */
#include "lib/draw.h"
#include "lib/store.h"

#include "base/clock.h"
#include "base/file.h"
#include "profile/merge.h"
#include "profile/pprof.h"
#include "store/service.h"
#include "store/window.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOST         "bench"
#define RATE         19
#define PERIOD_NS    (NS_PER_S / RATE)
#define CAPTURED_MS  (10 * MS_PER_S)
#define DAY_MS       (86400 * (int64_t)MS_PER_S)
#define MAX_BYTES    ((size_t)256 << 20)
#define MAX_SERVICES 500
#define MAKERS       2
#define COMMIT_EVERY 60 /* files */

static const int64_t kept_ms[WINDOW_LEVELS] = {DAY_MS / 12, 7 * DAY_MS,
                                               30 * DAY_MS, 30 * DAY_MS};
/* Average CPUs that a service keeps busy. */
static const double loads[] = {0.3, 0.05, 0.5, 0.1, 1, 0.02, 0.2, 0.7, 0.01};

struct service_of {
	struct profile *recorded;
	struct draw draw;
	double load;
	char name[32], series[ID_MAX];
};

struct bench {
	const char *dir, *tenant;
	struct store s;
	int64_t end_ms, windows, bytes, samples;
	struct service_of *services;
	size_t n;
};

/* Precedes the bytes of a window that a maker sends. */
struct made {
	struct window_ask ask;
	size_t n;
};

static void
must(int rc, const char *what)
{
	if (!rc)
		return;
	fprintf(stderr, "month: %s: %s\n", what, strerror(-rc));
	exit(1);
}

static int64_t
span_of(enum window_level level)
{
	return level ? window_span_ms(level) : CAPTURED_MS;
}

/* Returns the start of the first window of a level that still exists. */
static int64_t
first_of(const struct bench *b, enum window_level level)
{
	enum window_level parent = level < WINDOW_DAY ? level + 1 : WINDOW_DAY;

	return window_floor(parent, b->end_ms - kept_ms[level]);
}

/* --- makers --------------------------------------------------------------- */

static int64_t
samples_of(struct service_of *v, int64_t start_ms, int64_t span_ms)
{
	double middle = (double)(start_ms + span_ms / 2) / (double)DAY_MS;
	double day = 1 - 0.8 * cos(2 * M_PI * middle);

	return draw_poisson(&v->draw, RATE * v->load * day *
	                                      (double)(span_ms / MS_PER_S));
}

/* Rollups are packed. */
static void
encode(const struct profile *p, enum window_level level, struct buf *out)
{
	CLEANUP_MERGE struct merge *sum = NULL;

	if (level == WINDOW_CAPTURED) {
		must(pprof_encode(p, out), "encode");
		return;
	}
	must(merge_new(MAX_BYTES, &sum), "merge");
	must(merge_add(sum, p), "merge");
	must(merge_encode(sum, out), "encode");
}

static void
draw_window(struct service_of *v, struct made *m, struct buf *out)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	int64_t span = m->ask.end_ms - m->ask.start_ms;

	m->ask.duration_ms = span;
	m->ask.windows = span / CAPTURED_MS;
	must(draw_profile(&v->draw, samples_of(v, m->ask.start_ms, span),
	                  PERIOD_NS, &p),
	     "draw");
	for (uint32_t i = 0; i < p->nsamples; i++)
		m->ask.sample_count += p->values[(size_t)i * p->ntypes];
	m->ask.value = m->ask.sample_count * PERIOD_NS;
	p->time_ns = m->ask.start_ms * NS_PER_MS;
	p->duration_ns = span * NS_PER_MS;
	if (p->nsamples) /* an empty window has no bytes, as in the worker */
		encode(p, m->ask.level, out);
}

static void
add_child(struct store *s, const struct window *w, struct merge *sum,
          struct made *m)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	m->ask.duration_ms += w->duration_ms;
	m->ask.windows += w->windows;
	m->ask.sample_count += w->sample_count;
	m->ask.value += w->value;
	if (!w->length)
		return;
	must(window_read(s, w, &bytes), "read");
	must(merge_add_file(sum, bytes.p, bytes.len, MAX_BYTES, &why), "merge");
}

static void
sum_windows(struct store *s, const struct window_list *children, struct made *m,
            struct buf *out)
{
	CLEANUP_MERGE struct merge *sum = NULL;

	must(merge_new(MAX_BYTES, &sum), "merge");
	for (size_t i = 0; i < children->n; i++)
		add_child(s, &children->items[i], sum, m);
	if (!m->ask.sample_count)
		return;
	must(merge_encode(sum, out), "encode");
}

static void
children_of(struct store *s, struct service_of *v, enum window_level level,
            int64_t start_ms, struct window_list *out)
{
	struct ripe r = {v->series, start_ms};

	if (level > WINDOW_CAPTURED)
		must(window_children(s, &r, level, out), "children");
}

static void
make_window(struct store *s, struct service_of *v, enum window_level level,
            int64_t start_ms, int to)
{
	CLEANUP_WINDOWS struct window_list children = {0};
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_BYTES);
	struct made m = {.ask = {.level = level,
	                         .start_ms = start_ms,
	                         .end_ms = start_ms + span_of(level)}};

	children_of(s, v, level, start_ms, &children);
	if (children.n)
		sum_windows(s, &children, &m, &bytes);
	else
		draw_window(v, &m, &bytes);
	m.n = bytes.len;
	must(fd_write_all(to, &m, sizeof(m)), "write");
	must(fd_write_all(to, bytes.p, bytes.len), "write");
}

/* Makes every MAKERS-th service's windows of a level, in order of time. */
static void
be_maker(struct bench *b, enum window_level level, size_t which, int to)
{
	CLEANUP_STORE struct store s = {0};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	const struct conf conf = test_conf(b->dir);
	int64_t span = span_of(level);

	must(store_open(&conf, false, &s, &why), b->dir);
	must(fd_write_all(to, "", 1), "write");
	for (int64_t t = first_of(b, level); t + span <= b->end_ms; t += span)
		for (size_t i = which; i < b->n; i += MAKERS)
			make_window(&s, &b->services[i], level, t, to);
}

static void
read_all(int fd, void *to, size_t n)
{
	for (char *p = to; n;) {
		ssize_t got = read(fd, p, n);

		must(got <= 0 ? -EPIPE : 0, "a maker");
		p += got;
		n -= (size_t)got;
	}
}

/* Returns once the maker has opened the store; meanwhile nobody may write. */
static int
start_maker(struct bench *b, enum window_level level, size_t which)
{
	int ends[2];
	pid_t pid;
	char open;

	must(pipe2(ends, O_CLOEXEC) ? -errno : 0, "pipe");
	/* each level is another draw */
	for (size_t i = which; i < b->n; i += MAKERS)
		b->services[i].draw.seed += level * 0x100000001;
	pid = fork();
	must(pid < 0 ? -errno : 0, "fork");
	if (!pid) {
		close(ends[0]);
		be_maker(b, level, which, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	read_all(ends[0], &open, 1);
	return ends[0];
}

/* --- the store ------------------------------------------------------------ */

/* Receives a window from its maker, and stores it. */
static void
store_window(struct bench *b, struct service_of *v, struct segment *g, int fd)
{
	CLEANUP_WINDOWS struct window_list children = {0};
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_BYTES);
	struct made m;
	char *p;

	read_all(fd, &m, sizeof(m));
	p = buf_reserve(&bytes, m.n + 1);
	must(p ? 0 : -ENOMEM, "memory");
	read_all(fd, p, m.n);
	m.ask.series = v->series;
	must(segment_append(g, p, m.n, &m.ask), "append");
	children_of(&b->s, v, m.ask.level, m.ask.start_ms, &children);
	must(children.n ? window_rollup(&b->s, g, &m.ask, &children)
	                : window_commit(&b->s, g, &m.ask, 1, NULL),
	     "commit");
	b->windows++;
	b->bytes += (int64_t)m.n;
	if (!children.n)
		b->samples += m.ask.sample_count;
}

/* A file holds a minute of captured windows, or a batch of rollups of all
 * services at one time. */
static bool
begins_file(enum window_level level, int64_t t)
{
	return level || t == window_floor(WINDOW_MINUTE, t);
}

static void
fill_level(struct bench *b, enum window_level level)
{
	struct segment g = SEGMENT_INIT;
	int64_t span = span_of(level), files = 0;
	int fds[MAKERS], rc;

	for (size_t i = 0; i < MAKERS; i++)
		fds[i] = start_maker(b, level, i);
	must(store_begin(&b->s), "begin");
	for (int64_t t = first_of(b, level); t + span <= b->end_ms; t += span) {
		if (begins_file(level, t)) {
			segment_close(&g);
			must(segment_create(&b->s, HOST, &g), "segment");
			if (++files % COMMIT_EVERY == 0)
				must(store_commit(&b->s) ?: store_begin(&b->s),
				     "commit");
		}
		for (size_t i = 0; i < b->n; i++)
			store_window(b, &b->services[i], &g, fds[i % MAKERS]);
	}
	must(store_commit(&b->s), "commit");
	segment_close(&g);
	for (size_t i = 0; i < MAKERS; i++) {
		close(fds[i]);
		wait(NULL);
	}
	/* keeps SQLite's log short for readers, as a worker does */
	rc = db_upkeep(b->s.db);
	must(rc == -EBUSY ? 0 : rc, "upkeep");
}

/* --- services ------------------------------------------------------------- */

static void
add_service(struct bench *b, struct service_of *v)
{
	const struct service s = test_no_match(b->tenant, v->name);
	int rc = service_add(&b->s, &s);

	must(rc == -EEXIST ? 0 : rc, "service");
	must(series_of(&b->s, b->tenant, v->name, "cpu", HOST, "{}", v->series),
	     "series");
}

static void
begin_service(struct bench *b, size_t i, const char *path)
{
	struct service_of *v = &b->services[i];
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	snprintf(v->name, sizeof(v->name), "bench%zu", i);
	v->load = loads[i % ARRAY_LEN(loads)];
	must(file_read(AT_FDCWD, path, &bytes), path);
	must(pprof_decode(bytes.p, bytes.len, MAX_BYTES, &p, &why), path);
	must(draw_longer(p, i, &v->recorded), path);
	must(draw_init(&v->draw, v->recorded, i << 8), path);
	add_service(b, v);
}

int
main(int argc, char **argv)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct bench b = {0};
	struct conf conf;
	int n = argc < 6 ? 0 : atoi(argv[4]);

	if (n <= 0 || n > MAX_SERVICES) {
		fputs("usage: month STORE_DIR TENANT END_MS SERVICES "
		      "PROFILE...\n",
		      stderr);
		return 2;
	}
	b.dir = argv[1];
	b.tenant = argv[2];
	b.end_ms = atoll(argv[3]);
	b.n = (size_t)n;
	b.services = calloc(b.n, sizeof(*b.services));
	must(b.services ? 0 : -ENOMEM, "services");
	conf = test_conf(b.dir);
	must(store_open(&conf, true, &b.s, &why), b.dir);
	for (size_t i = 0; i < b.n; i++)
		begin_service(&b, i, argv[5 + i % (size_t)(argc - 5)]);
	for (enum window_level l = 0; l < WINDOW_LEVELS; l++)
		fill_level(&b, l);
	for (size_t i = 0; i < b.n; i++) {
		draw_done(&b.services[i].draw);
		profile_free(b.services[i].recorded);
	}
	free(b.services);
	store_close(&b.s);
	printf("%lld %lld %lld\n", (long long)b.windows, (long long)b.bytes,
	       (long long)b.samples);
	return 0;
}

/*
 * Fills a store as 30 days of continuous profiling would leave it: windows as
 * captured of the last two hours, minutes of seven days, hours and days of
 * all of it, each rolled up as the worker does. Profiles are drawn from a pool
 * of stacks per service, few of which are hot.
 *
 *	month STORE_DIR TENANT SERVICES
 *
 * Services are bench0, bench1, ... Prints one line: windows, bytes, samples.
 */
#include "base/clock.h"
#include "profile/pprof.h"
#include "store/service.h"
#include "store/window.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define VARIANTS 4 /* different profiles of one level */
#define POOL     8000
#define DEPTH    20
#define SHARED   15
#define RATE     19
#define HOST     "bench"

/* Distinct stacks of one profile: what a busy service showed at 19 Hz. */
static const unsigned stacks_of[WINDOW_LEVELS] = {40, 120, 1000, 4000};
static const int64_t kept_ms[WINDOW_LEVELS] = {
	2 * 3600 * MS_PER_S, INT64_C(7) * 86400 * MS_PER_S,
	INT64_C(30) * 86400 * MS_PER_S, INT64_C(30) * 86400 * MS_PER_S};

struct made {
	struct buf file;
	int64_t samples;
};

struct bench {
	struct store *s;
	struct segment segment;
	struct made made[WINDOW_LEVELS][VARIANTS];
	int64_t end_ms, windows, bytes, samples;
	char series[ID_MAX];
};

static void
must(int rc, const char *what)
{
	if (!rc)
		return;
	fprintf(stderr, "month: %s: %s\n", what, strerror(-rc));
	exit(1);
}

static uint32_t
frame(struct profile *p, uint32_t mapping, unsigned service, unsigned number)
{
	struct function f = {0};
	struct line line = {.line = number % 500};
	uint32_t location;
	char name[96];

	snprintf(name, sizeof(name), "shop%u::%s::step_%u(int, char const*)",
	         service, number % 2 ? "cart" : "stock", number);
	must(profile_cstring(p, name, &f.name), "name");
	must(profile_cstring(p, number % 2 ? "cart.cc" : "stock.cc", &f.file),
	     "file");
	must(profile_function(p, &f, &line.function), "function");
	must(profile_location(p, mapping, 0x1000 + 16ull * number, &line, 1,
	                      &location),
	     "location");
	return location;
}

static void
add_stack(struct profile *p, uint32_t mapping, unsigned service, unsigned i,
          int64_t weight)
{
	uint32_t stack[DEPTH];
	int64_t values[] = {weight, weight * (NS_PER_S / RATE)};
	unsigned prefix = i;

	for (unsigned k = 0; k < SHARED; k++, prefix /= 3)
		stack[DEPTH - 1 - k] =
			frame(p, mapping, service, k * 8 + prefix % 3);
	for (unsigned k = 0; k < DEPTH - SHARED; k++)
		stack[k] = frame(p, mapping, service,
		                 200 + (i * 7 + k * 13) % 1500);
	must(profile_sample(p, stack, DEPTH, NULL, 0, values), "sample");
}

static void
make(unsigned service, enum window_level level, unsigned variant,
     struct made *out)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	struct mapping m = {.start = 0x1000, .limit = 0x1000000};
	unsigned n = stacks_of[level];
	uint32_t mapping;

	must(p ? 0 : -ENOMEM, "profile");
	must(profile_type(p, "samples", "count"), "type");
	must(profile_type(p, "cpu", "nanoseconds"), "type");
	must(profile_cstring(p, "/usr/bin/shop", &m.file), "file");
	must(profile_mapping(p, &m, &mapping), "mapping");
	out->samples = 0;
	for (unsigned i = 0; i < n; i++) {
		/* half are the hot ones, half come and go */
		unsigned which = i < n / 2 ? i
		                           : (i * 31 + variant * 997) % POOL;
		int64_t weight = 1 + n / (i + 1);

		add_stack(p, mapping, service, which, weight);
		out->samples += weight;
	}
	p->period = NS_PER_S / RATE;
	out->file = BUF_INIT(BUF_MAX_REPLY);
	must(pprof_encode(p, &out->file), "encode");
}

/* Bytes of a window, in the segment; *w is filled. */
static void
append(struct bench *b, enum window_level level, int64_t start_ms,
       int64_t span_ms, struct window_ask *w)
{
	const struct made *m = &b->made[level][(start_ms / span_ms) % VARIANTS];

	*w = (struct window_ask){
		.series = b->series,
		.level = level,
		.start_ms = start_ms,
		.end_ms = start_ms + span_ms,
		.duration_ms = span_ms,
		.windows = span_ms / 10000,
		.sample_count = m->samples,
		.value = m->samples * (NS_PER_S / RATE),
	};
	must(segment_append(&b->segment, m->file.p, m->file.len, w), "append");
	b->windows++;
	b->bytes += (int64_t)m->file.len;
	b->samples += m->samples;
}

static void
roll(struct bench *b, enum window_level level, int64_t start_ms)
{
	CLEANUP_WINDOWS struct window_list l = {0};
	struct ripe r = {b->series, start_ms};
	struct window_ask w;

	must(window_children(b->s, &r, level, &l), "children");
	append(b, level, start_ms, window_span_ms(level), &w);
	if (l.n)
		must(window_rollup(b->s, &b->segment, &w, &l), "rollup");
	else /* retention has taken them */
		must(window_commit(b->s, &b->segment, &w, 1, NULL), "commit");
}

static void
fill_service(struct bench *b, const char *tenant, unsigned service)
{
	char name[32];

	snprintf(name, sizeof(name), "bench%u", service);
	must(series_of(b->s, tenant, name, "cpu", HOST, "{}", b->series),
	     "series");
	must(segment_create(b->s, HOST, &b->segment), "segment");
	for (enum window_level l = 0; l < WINDOW_LEVELS; l++)
		for (unsigned v = 0; v < VARIANTS; v++)
			make(service, l, v, &b->made[l][v]);
	must(store_begin(b->s), "begin");
	for (enum window_level l = 0; l < WINDOW_LEVELS; l++) {
		int64_t span = l ? window_span_ms(l) : 10000;
		int64_t t = b->end_ms - kept_ms[l];

		t -= l ? t % span : t % window_span_ms(WINDOW_MINUTE);
		for (; t + span <= b->end_ms; t += span) {
			struct window_ask w;

			if (l) {
				roll(b, l, t);
				continue;
			}
			append(b, l, t, span, &w);
			must(window_commit(b->s, &b->segment, &w, 1, NULL),
			     "commit");
		}
	}
	must(segment_sync(&b->segment), "sync");
	must(store_commit(b->s), "commit");
	segment_close(&b->segment);
	for (enum window_level l = 0; l < WINDOW_LEVELS; l++)
		for (unsigned v = 0; v < VARIANTS; v++)
			buf_done(&b->made[l][v].file);
}

static void
add_service(struct store *s, const char *tenant, unsigned service)
{
	char name[32];
	struct service v = {
		.tenant = (char *)tenant,
		.name = name,
		.kind = "native",
		.host = "",
		.match_kind = "",
		.match_value = "",
		.pprof_url = "",
		.source = "auto",
		.allow = "{}",
		.labels = "{}",
		.description = "",
	};
	int rc;

	snprintf(name, sizeof(name), "bench%u", service);
	rc = service_add(s, &v);
	must(rc == -EEXIST ? 0 : rc, "service");
}

int
main(int argc, char **argv)
{
	CLEANUP_STORE struct store s = {0};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct bench b = {.s = &s, .end_ms = clock_wall_ms()};
	unsigned n;

	if (argc != 4) {
		fputs("usage: month STORE_DIR TENANT SERVICES\n", stderr);
		return 2;
	}
	must(store_open(argv[1], false, &s, &why), argv[1]);
	n = (unsigned)atoi(argv[3]);
	for (unsigned i = 0; i < n; i++) {
		add_service(&s, argv[2], i);
		fill_service(&b, argv[2], i);
	}
	printf("%lld %lld %lld\n", (long long)b.windows, (long long)b.bytes,
	       (long long)b.samples);
	return 0;
}

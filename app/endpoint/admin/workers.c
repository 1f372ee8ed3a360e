/* GET /api/v1/workers, and the metrics of hosts of a fleet. */
#include "workers.h"

#include "base/clock.h"
#include "endpoint/call.h"
#include "store/block.h"

#include <stdlib.h>
#include <string.h>

#define AGREE_MS 1000 /* smaller differences of clocks are not reported */

static const char *const levels[WINDOW_LEVELS] = {"window", "minute", "hour",
                                                  "day"};

struct hosts {
	struct worker_list workers;
	struct arrived_list arrivals; /* by host */
	int64_t now_ms;
};
#define CLEANUP_HOSTS CLEANUP(hosts_done)

static void
hosts_done(struct hosts *h)
{
	worker_list_done(&h->workers);
	arrived_list_done(&h->arrivals);
}

static int
hosts_read(struct store *s, const char *tenant, struct hosts *out)
{
	return worker_list(s, tenant, &out->workers)
	               ?: block_arrived(s, tenant, &out->arrivals)
	               ?: store_now(s, &out->now_ms);
}

static int64_t
since_ms(const struct hosts *h, int64_t then_ms)
{
	return h->now_ms > then_ms ? h->now_ms - then_ms : 0;
}

/* --- the list ------------------------------------------------------------- */

/* A row of the database may have any level. */
static bool
has_level(const struct arrived *a)
{
	return a->level >= 0 && a->level < (int64_t)ARRAY_LEN(levels);
}

static void
put_arrived(const struct hosts *h, const struct worker *w, struct buf *out)
{
	json_open(out, "arrived", '[');
	for (size_t i = 0; i < h->arrivals.n; i++) {
		const struct arrived *a = &h->arrivals.items[i];

		if (!has_level(a) || strcmp(a->host, w->host) != 0)
			continue;
		json_open(out, NULL, '{');
		json_put_text(out, "level", levels[a->level]);
		json_put_time(out, "until", a->end_ms);
		json_put_int(out, "lagSeconds",
		             since_ms(h, a->end_ms) / MS_PER_S);
		json_close(out, '}');
	}
	json_close(out, ']');
}

static void
put_waiting(const struct worker *w, struct buf *out)
{
	bool reported = w->told_ms;
	int64_t off = w->clock_ms;

	json_put_known(out, "waitingWindows", (double)w->waiting_windows,
	               reported);
	json_put_known(out, "waitingBytes", (double)w->waiting_bytes, reported);
	json_put_known(out, "waitingResults", (double)w->waiting_results,
	               reported);
	json_put_time_or_null(out, "waitingSince", w->waiting_since_ms);
	json_put_known(out, "clockOffsetSeconds", (double)off / MS_PER_S,
	               off > AGREE_MS || off < -AGREE_MS);
}

static void
put_worker(const struct hosts *h, const struct worker *w, struct buf *out)
{
	json_open(out, NULL, '{');
	json_put_text(out, "host", w->host);
	json_put_text(out, "version", w->version);
	json_put_bool(out, "alive", w->alive);
	json_put_time(out, "startedAt", w->started_ms);
	json_put_time(out, "heartbeatAt", w->heartbeat_ms);
	json_put_bool(out, "joined", w->joined);
	put_arrived(h, w, out);
	put_waiting(w, out);
	json_put_raw(out, "capabilities", w->capabilities, "{}");
	json_close(out, '}');
}

int
workers_get(struct call *c)
{
	CLEANUP_HOSTS struct hosts h = {0};
	struct buf *out;
	int rc = hosts_read(&c->env->store, c->caller.tenant, &h);

	if (rc)
		return fail_store(c, rc);
	out = page_begin(c);
	for (size_t i = 0; i < h.workers.n; i++)
		put_worker(&h, &h.workers.items[i], out);
	return page_end(c, NULL);
}

/* --- metrics -------------------------------------------------------------- */

static void
put_gauge(const char *name, const char *help, struct buf *out)
{
	buf_addf(out,
	         "# HELP stoker_host_%s %s.\n# TYPE stoker_host_%s gauge\n",
	         name, help, name);
}

static int64_t
silent_s(const struct hosts *h, const struct worker *w)
{
	return since_ms(h, w->heartbeat_ms) / MS_PER_S;
}

static int64_t
oldest_s(const struct hosts *h, const struct worker *w)
{
	return w->waiting_since_ms ? since_ms(h, w->waiting_since_ms) / MS_PER_S
	                           : 0;
}

#define OF(member)                                         \
	static int64_t member##_of(const struct hosts *h,  \
	                           const struct worker *w) \
	{                                                  \
		(void)h;                                   \
		return w->member;                          \
	}
OF(waiting_windows)
OF(waiting_bytes)
OF(waiting_results)
#undef OF

static const struct {
	const char *name, *help;
	bool reported; /* only for hosts that report it */
	int64_t (*of)(const struct hosts *h, const struct worker *w);
} gauges[] = {
	{"silent_seconds", "Time since a host of the fleet was last heard from",
         false, silent_s},
	{"waiting_windows", "Minutes that wait on a host of the fleet", true,
         waiting_windows_of},
	{"waiting_bytes", "Bytes of these", true, waiting_bytes_of},
	{"waiting_results", "Results of captures that wait there", true,
         waiting_results_of},
	{"waiting_seconds",
         "Time since the oldest minute that waits there began", true, oldest_s},
};

static void
put_clocks(const struct hosts *h, struct buf *out)
{
	put_gauge("clock_offset_seconds",
	          "How far the clock of a host is ahead of the store's", out);
	for (size_t i = 0; i < h->workers.n; i++) {
		const struct worker *w = &h->workers.items[i];

		if (!w->joined || w->told_ms)
			buf_addf(
				out,
				"stoker_host_clock_offset_seconds{host=\"%s\"} "
				"%.3f\n",
				w->host, (double)w->clock_ms / MS_PER_S);
	}
}

static void
put_lags(const struct hosts *h, struct buf *out)
{
	put_gauge("lag_seconds",
	          "Time since the end of the newest windows that arrived from "
	          "a host",
	          out);
	for (size_t i = 0; i < h->arrivals.n; i++) {
		const struct arrived *a = &h->arrivals.items[i];

		if (!has_level(a))
			continue;
		buf_addf(out,
		         "stoker_host_lag_seconds{host=\"%s\",tenant=\"%s\","
		         "level=\"%s\"} %lld\n",
		         a->host, a->tenant, levels[a->level],
		         (long long)(since_ms(h, a->end_ms) / MS_PER_S));
	}
}

static void
put_gauges(const struct hosts *h, struct buf *out)
{
	for (size_t g = 0; g < ARRAY_LEN(gauges); g++) {
		put_gauge(gauges[g].name, gauges[g].help, out);
		for (size_t i = 0; i < h->workers.n; i++) {
			const struct worker *w = &h->workers.items[i];

			if (!w->joined || (gauges[g].reported && !w->told_ms))
				continue;
			buf_addf(out, "stoker_host_%s{host=\"%s\"} %lld\n",
			         gauges[g].name, w->host,
			         (long long)gauges[g].of(h, w));
		}
	}
}

int
workers_metrics(struct store *s, const char *tenant, struct buf *out)
{
	CLEANUP_HOSTS struct hosts h = {0};
	int rc = hosts_read(s, tenant, &h);

	if (rc)
		return rc;
	put_gauges(&h, out);
	put_clocks(&h, out);
	put_lags(&h, out);
	return 0;
}

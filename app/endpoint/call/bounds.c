/*
 * Bounds of one call: its client, its time, its memory.
 */
#include "endpoint/call.h"

#include "base/clock.h"
#include "base/conf.h"
#include "base/file.h"

#define HEAVY_WAIT_S  3
#define HEAVY_TURN_MS 100

static int
client_gone(struct call *c)
{
	buf_puts(&c->reply->cause, "the client has gone");
	c->dropped = true;
	return fail(c, BadRequest);
}

int
call_go_on(struct call *c)
{
	if (fd_hung_up(c->req->peer_fd))
		return client_gone(c);
	if (!c->end_ns || clock_mono_ns() < c->end_ns)
		return 0;
	detail_int(c, "maxSeconds", c->env->conf->api_request_time);
	return fail_retry(c, 5, RequestTooSlow);
}

/* --- heavy calls ---------------------------------------------------------- */

/* Waits for a place in short steps, to notice that the client has gone, or that
 * the holder of a place was killed. */
static int
wait_for_place(struct call *c)
{
	struct counters *of = c->env->counters;
	int64_t end_ns = clock_mono_ns() + HEAVY_WAIT_S * NS_PER_S;
	uint32_t changes;

	while (!counters_heavy_begin(of, c->caller.tenant, &changes)) {
		if (call_go_on(c))
			return -1;
		if (clock_mono_ns() >= end_ns)
			return fail_retry(c, HEAVY_WAIT_S,
			                  TooManyHeavyRequests);
		counters_heavy_wait(of, changes, HEAVY_TURN_MS);
	}
	return 0;
}

/* A call that waits takes one of the tickets for waiting. Without one it is
 * refused at once, so that half of the pool is free. */
static int
take_place(struct call *c)
{
	struct counters *of = c->env->counters;
	uint32_t changes;
	int rc;

	if (counters_heavy_begin(of, c->caller.tenant, &changes))
		return 0;
	if (!counters_wait_begin(of))
		return fail_retry(c, HEAVY_WAIT_S, TooManyHeavyRequests);
	rc = wait_for_place(c);
	counters_wait_end(of);
	return rc;
}

int
call_reads(struct call *c, uint64_t bytes)
{
	bool light = c->reads <= CALL_LIGHT;

	c->reads += bytes;
	return light && c->reads > CALL_LIGHT ? take_place(c) : 0;
}

#include "patience.h"

#include "base/clock.h"
#include "interrupt.h"
#include "result.h"
#include "survey.h"
#include "table.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define PAUSE_MS 500

static bool
is_absent(const json_t *error)
{
	return !strcmp(json_member(error, "error_code"), "ServiceNotRunning");
}

/* False for a service without a match, which has no processes. */
static bool
may_appear(const struct http_reply *r)
{
	const json_t *details = json_object_get(r->json, "details");
	const json_t *match = json_object_get(details, "match");

	return !match || json_string_length(match);
}

struct patience
patience_of(const struct cli *c, const char *service, bool has_option)
{
	int64_t s = c->opt.wait_for_process;

	return (struct patience){
		.service = service,
		.has_option = has_option,
		.end_ns = clock_mono_ns() + (s < 0 ? 0 : s * NS_PER_S),
	};
}

static void
wait_for_process(const struct cli *c, struct patience *p)
{
	if (!p->noted && !c->opt.json)
		fprintf(stderr,
		        "stoker: no process of %s was found yet; looking for "
		        "one for up to %" PRId64 " s\n",
		        p->service, c->opt.wait_for_process);
	p->noted = true;
	poll(NULL, 0, PAUSE_MS);
}

/* Prints why nothing was started; if no process runs, also units or programs
 * with processes that resemble the service's match. */
static int
print_refusal(struct cli *c, const struct patience *p,
              const struct http_reply *r)
{
	CLEANUP_BUF struct buf near = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf command = BUF_INIT(BUF_MAX_SMALL);
	const json_t *details = json_object_get(r->json, "details");
	int rc = tell_reply(c, r);

	if (c->opt.json || !is_absent(r->json) || !may_appear(r))
		return rc;
	buf_addf(&command, "stoker service set %s", p->service);
	survey_near_show(c, json_member(details, "match"), buf_str(&command),
	                 &near);
	fputs(buf_str(&near), stderr);
	if (p->has_option && c->opt.wait_for_process < 0)
		fputs("to wait for it to start, add --wait-for-process 2m\n",
		      stderr);
	return rc;
}

int
patience_start(struct cli *c, struct patience *p, const json_t *body,
               struct http_reply *out)
{
	for (;;) {
		CLEANUP_REPLY struct http_reply r = REPLY_INIT;
		int rc = ask_early(c, "POST", PROFILES "/start", body, &r);

		if (rc || r.status != 503) {
			*out = r;
			r = (struct http_reply)REPLY_INIT;
			return rc;
		}
		if (interrupted) {
			failed("nothing was started");
			return LEAVE_INTERRUPTED;
		}
		if (!is_absent(r.json) || !may_appear(&r) ||
		    clock_mono_ns() > p->end_ns)
			return print_refusal(c, p, &r);
		wait_for_process(c, p);
	}
}

bool
patience_again(const struct cli *c, struct patience *p, const json_t *result)
{
	if (!is_absent(json_object_get(result, "error")) ||
	    clock_mono_ns() >= p->end_ns)
		return false;
	wait_for_process(c, p);
	return true;
}

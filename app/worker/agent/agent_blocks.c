/* Sends windows of continuous profiling to the centre. */
#include "agent_parts.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "worker/ipc/fetch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define LOOK_NS  (5 * NS_PER_S)    /* between two searches for due windows */
#define AHEAD_NS (3600 * NS_PER_S) /* for how long ahead_ms is assumed */
/* Hosts of a fleet send a minute within this time after it ends, each after a
 * different delay. */
#define MINUTE_SPREAD_MS (20 * MS_PER_S)

static void
failed(struct agent *a, const char *why, int64_t now_ns)
{
	agent_complain(a, why);
	a->block_failures++;
	a->blocks_ns = now_ns + agent_pause_ns(a->block_failures);
}

/* Moves the cursor past a block that the centre has, or that has no windows. */
static int
done(struct agent *a, const char *tenant, const struct block_span *b)
{
	return block_sent(a->store, tenant, b->tier, b->end_ms);
}

static int
send_bytes(struct agent *a, const char *tenant, const struct block_span *b,
           const struct buf *bytes)
{
	CLEANUP_FD int fd = memfd_create("stoker-block", MFD_CLOEXEC);
	int rc = fd < 0 ? -errno : fd_write_all(fd, bytes->p, bytes->len);

	if (!rc)
		rc = agent_ask(a, "/agent/block", "application/octet-stream",
		               AGENT_ANSWER_MAX, fd, &a->block);
	if (rc)
		return rc;
	snprintf(a->block_tenant, sizeof(a->block_tenant), "%s", tenant);
	a->span = *b;
	return 0;
}

/* Sends a tenant's windows that are due. Returns 1 if a block was sent. */
static int
send_tenant(void *arg, const char *tenant)
{
	struct agent *a = arg;
	int64_t turn = (int64_t)(hash_bytes(a->host, strlen(a->host)) >> 1);
	int64_t now_ms = clock_wall_ms() - a->ahead_ms -
	                 turn % MINUTE_SPREAD_MS;
	struct block_span b;
	int rc;

	while ((rc = block_next(a->store, tenant, now_ms,
	                        turn % BLOCK_SPREAD_MS, &b)) > 0) {
		CLEANUP_BUF struct buf bytes = BUF_INIT(BLOCK_MAX_BYTES);

		rc = block_of_windows(a->store, tenant, b.tier, b.start_ms,
		                      b.end_ms, &bytes);
		if (rc == -EFBIG || rc == -E2BIG)
			log_warn("centre: windows of an hour are too many to "
			         "be sent, and stay here");
		if (rc == -EFBIG || rc == -E2BIG || rc == -ENODATA)
			rc = done(a, tenant, &b);
		else if (!rc)
			return send_bytes(a, tenant, &b, &bytes) ?: 1;
		if (rc)
			break;
	}
	return rc;
}

void
agent_send_blocks(struct agent *a, int64_t now_ns)
{
	char why[128];
	int rc;

	if (a->block || a->failures || a->courier < 0 || now_ns < a->blocks_ns)
		return;
	if (now_ns >= a->ahead_ns)
		a->ahead_ms = 0;
	rc = agent_tenants(a->store, send_tenant, a);
	if (rc < 0) {
		snprintf(why, sizeof(why), "windows can't be sent: %s",
		         strerror(-rc));
		failed(a, why, now_ns);
	} else if (!rc) {
		a->blocks_ns = now_ns + LOOK_NS;
	}
}

static bool
is_refused_as(const json_t *answer, const char *kind)
{
	const char *code =
		json_string_value(json_object_get(answer, "error_code"));

	return code && !strcmp(code, kind);
}

/* Reads the time that the centre gives in a refusal of this kind; -1 for
 * another answer. */
static int64_t
read_cursor(int body, const char *kind)
{
	CLEANUP_JSON json_t *j = agent_read_answer(body);
	const json_t *cursor =
		json_object_get(json_object_get(j, "details"), "cursorMs");

	return is_refused_as(j, kind) && json_is_integer(cursor)
	               ? json_integer_value(cursor)
	               : -1;
}

/* Notes that this host's clock is ahead of the centre's: windows are sent once
 * the centre's clock has reached their time. Expires after AHEAD_NS, since
 * clocks are corrected. */
static void
note_ahead(struct agent *a, int64_t most_ms, int64_t now_ns)
{
	int64_t now_ms = clock_wall_ms();

	if (most_ms <= 0 || most_ms >= now_ms)
		return;
	a->ahead_ms = now_ms - most_ms;
	a->ahead_ns = now_ns + AHEAD_NS;
}

/* True if the centre cannot read a block that this host can read, or lacks the
 * memory to check: the centre runs another release, and may be upgraded. */
static bool
may_be_read(struct agent *a, int body)
{
	CLEANUP_JSON json_t *j = agent_read_answer(body);
	CLEANUP_BUF struct buf bytes = BUF_INIT(BLOCK_MAX_BYTES);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BLOCK struct block made = {0};
	const struct block_span *b = &a->span;
	int rc;

	if (!is_refused_as(j, "InvalidBlock"))
		return false;
	rc = block_of_windows(a->store, a->block_tenant, b->tier, b->start_ms,
	                      b->end_ms, &bytes)
	             ?: block_decode(bytes.p, bytes.len, &made, &why);
	return !rc || rc == -ENOMEM || rc == -EMFILE || rc == -EBUSY;
}

void
agent_take_block(struct agent *a, const struct fetch_answer *f, int body,
                 int64_t now_ns)
{
	struct block_span b = a->span;
	char why[sizeof(a->why)];
	bool stored = !f->error && f->status == 200;
	int rc;

	a->block = 0;
	if (!f->error && f->status == 409) {
		int64_t cursor_ms = read_cursor(body, "BlockOverlaps");

		/* the centre's windows were sent from another store */
		stored = cursor_ms > b.start_ms && cursor_ms < b.end_ms;
		b.end_ms = stored ? cursor_ms : b.end_ms;
		note_ahead(a, read_cursor(body, "BlockAhead"), now_ns);
	}
	if (!stored) {
		agent_why_not(f, body, why, sizeof(why));
		if (f->error || !agent_is_refusal(f->status) ||
		    may_be_read(a, body)) {
			failed(a, why, now_ns);
			return;
		}
		log_warn("centre: windows that stay here alone: %s", why);
	}
	rc = done(a, a->block_tenant, &b);
	if (rc) {
		snprintf(why, sizeof(why), "sent windows: %s", strerror(-rc));
		failed(a, why, now_ns);
		return;
	}
	a->block_failures = 0;
	a->blocks_ns = now_ns;
}

/*
 * How a host of a fleet and its centre exchange work and results.
 *
 *	centre        courier     scheduler             local store
 *	<─ POST poll ─ FETCH ───── agent_poll.c <─────── worker, process
 *	── orders ───> FETCHED ──> agent_orders.c ─────> service, job
 *	<─ POST result FETCH ───── agent_result.c <───── session, blob
 *	── 200 ──────> FETCHED ──> agent.c ────────────> none of these
 *
 * The local store is the spool. A job is stored there, under the centre's id,
 * before the host acknowledges it; a result stays until the centre has stored
 * it. So any process may end at any time: the centre sends a job again if the
 * host does not report it, a job in progress is taken over from the local
 * store, and a result without a reply is sent again.
 *
 * Bodies are passed in memfds. The courier, which has the key and the network,
 * parses none. The scheduler, which has neither, trusts the centre no more than
 * the API's user on its own host: this host's stoker.conf decides which
 * processes a tenant may profile (worker/targets/match.h).
 *
 * Windows of continuous profiling are sent the same way, as blocks
 * (store/block.h): a cursor in the local store records how far the centre has
 * them.
 */
#pragma once

#include "base/conf.h"
#include "store/agent.h"
#include "store/block.h"

#include <stdbool.h>

#define AGENT_GENERATIONS 2048 /* bytes of the text, with its NUL */

struct fetch_answer;

struct agent {
	const struct conf *conf;
	struct store *store;
	const char *host, *boot_id;
	size_t max_jobs; /* at once */
	int courier;     /* socket; -1: none */
	/* Makes sure that a courier runs. Returns 0 or -errno. */
	int (*want_courier)(void *arg);
	void *arg;

	uint64_t last_fetch;          /* id */
	uint64_t poll, result, block; /* requests in progress; 0: none */
	char sending[ID_MAX];         /* the session of that result */
	int64_t next_ns;              /* when to poll */
	int64_t send_ns;        /* when to send a result, at the earliest */
	unsigned failures;      /* successive polls without an answer */
	unsigned send_failures; /* successive results that were not taken */
	int64_t blocks_ns;      /* when to send windows, at the earliest */
	unsigned block_failures;
	char block_tenant[STORE_TENANT_MAX]; /* of the block in progress */
	struct block_span span;
	int64_t ahead_ms; /* by how much this host's clock is ahead of what the
	                     centre accepts, */
	int64_t ahead_ns; /* and until when this is assumed */
	char why[512];    /* the last failure logged; "": all is well */

	int64_t beat_ns;      /* when the worker's row is due */
	int64_t processes_ns; /* when processes are sent even if unchanged */
	uint64_t processes;   /* hash of what the centre knows; 0: nothing */
	uint64_t polled;      /* hash of those in the poll in progress;
	                         0: none */
	bool beats;           /* that poll has the worker's row */
	struct block_waiting waiting;       /* windows, as of the last look */
	int64_t waiting_ns;                 /* when to look again */
	char generation[AGENT_GENERATIONS]; /* of this host's services */
	int64_t lease_ms, max_bytes;        /* set by the centre; 0: not yet */
	int64_t asked_ms; /* this host's clock at the last poll */
	int64_t clock_ms; /* how far this host's clock is ahead of the
	                     centre's; 0: unknown */
	int64_t look;     /* the centre's number of a look; 0: none is wanted */
	int64_t look_ms;  /* a local look from this time on answers it */
	int64_t looked;   /* number of a finished look, not yet reported */
	bool holds;       /* there may be jobs of the centre */

	bool changed; /* services or jobs came: the scheduler reloads them */
};

#define AGENT_INIT                                              \
	{                                                       \
		.courier = -1, .lease_ms = 15000, .holds = true \
	}

/* True when this host belongs to a centre. */
static inline bool
agent_is(const struct agent *a)
{
	return *a->conf->agent_url;
}

/* Does the work that is due; logs failures, and retries later. */
void agent_step(struct agent *a, int64_t now_ns);
/* Returns the ms until agent_step() is due, at most max_ms. */
int agent_wait_ms(const struct agent *a, int64_t now_ns, int max_ms);
/* Takes one message of the courier; -EPIPE when it is gone. */
MUST_CHECK int agent_fetched(struct agent *a, int64_t now_ns);
/* Handles the courier's death: its requests are lost. */
void agent_courier_gone(struct agent *a, int64_t now_ns);

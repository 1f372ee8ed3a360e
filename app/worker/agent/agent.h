/*
 * A host of a fleet: its scheduler and the centre of that fleet.
 *
 *	centre        courier     scheduler             local store
 *	<─ POST poll ─ FETCH ───── agent_poll.c <─────── worker, process
 *	── orders ───> FETCHED ──> agent_orders.c ─────> service, job
 *	<─ POST result FETCH ───── agent_result.c <───── session, blob
 *	── 200 ──────> FETCHED ──> agent.c ────────────> none of these
 *
 * The local store is the spool. A job that came is in it, under the centre's
 * id, before the centre hears of that; a result stays until the centre has
 * stored it. Whichever process ends, whenever: the centre gives a job again
 * that the host does not tell of, a job that was under way is the local
 * store's to take over, and a result whose reply was lost is sent again.
 *
 * Bodies go and come in files of memory: the courier, which has the key and
 * the network, parses none, and the scheduler, which has neither, believes the
 * centre no more than the API's user of its own host: what a tenant may name
 * here is this host's stoker.conf to say (worker/targets/match.h).
 *
 * Windows of continuous profiling go the same way, as blocks (store/block.h):
 * a cursor in the local store says what the centre has of them.
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
	uint64_t poll, result, block; /* what is under way; 0: nothing */
	char sending[ID_MAX];         /* the session of that result */
	int64_t next_ns;              /* when to poll */
	int64_t send_ns;        /* when to send a result, at the earliest */
	unsigned failures;      /* polls without an answer, one after another */
	unsigned send_failures; /* the same of results */
	int64_t blocks_ns;      /* when to send windows, at the earliest */
	unsigned block_failures;
	char block_tenant[STORE_TENANT_MAX]; /* of the block under way */
	struct block_span span;
	int64_t ahead_ms; /* of the centre's clock: this one, beyond what the
	                     centre takes, */
	int64_t ahead_ns; /* and until when that holds */
	char why[512];    /* what was logged of that; "": all is well */

	int64_t beat_ns;      /* when the worker's row is due */
	int64_t processes_ns; /* when processes are told, changed or not */
	uint64_t processes;   /* hash of what the centre has; 0: nothing */
	uint64_t told;        /* the same of the poll that is under way; 0: it
	                         tells none */
	bool beats;           /* that poll has the worker's row */
	struct block_waiting waiting;       /* windows, as of the last look */
	int64_t waiting_ns;                 /* when to look again */
	char generation[AGENT_GENERATIONS]; /* of the services here */
	int64_t lease_ms, max_bytes;        /* as the centre says; 0: not yet */
	int64_t look;    /* the centre's number of a look; 0: none is wanted */
	int64_t look_ms; /* a local look that began then answers it */
	int64_t looked;  /* number of a look that the centre is not told of */
	bool holds;      /* there may be jobs of the centre's */

	bool changed; /* services or jobs came: the scheduler looks at them */
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

/* Does what is due; logs failures, and tries again later. */
void agent_step(struct agent *a, int64_t now_ns);
/* Returns how long it may be left alone, at most max_ms. */
int agent_wait_ms(const struct agent *a, int64_t now_ns, int max_ms);
/* Takes one message of the courier; -EPIPE when it is gone. */
MUST_CHECK int agent_fetched(struct agent *a, int64_t now_ns);
/* Handles the courier's death: nothing is under way. */
void agent_courier_gone(struct agent *a, int64_t now_ns);

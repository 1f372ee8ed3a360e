/*
 * Fetching over HTTP: the messages between the scheduler and the fetcher, over
 * a SOCK_SEQPACKET pair (messages.h: socket f).
 *
 *    scheduler to fetcher
 *    FETCH      + 0 or 1 descriptor: the body to send, from offset 0, or,
 *               for GET, an empty file for the answer's body. Answered by
 *               one FETCHED.
 *    CANCEL     ends a fetch: the connection is closed, without an answer.
 *    fetcher to scheduler
 *    FETCHED    error = 0: the server answered, with any status; + 1
 *               descriptor, the file with the body: that of FETCH, or a
 *               memfd. The body is untrusted: only a sandboxed finisher
 *               parses it. error > 0: an enum fetch_error, no descriptor.
 *
 * The fetcher decides by configuration and purpose what may be fetched: only
 * http and https, only from hosts on the purpose's list and in the tenant's
 * scope, from debuginfod servers only files by build-id, and nothing from an
 * address of FETCH_DENIED (fetch.def), whatever its name. It follows no
 * redirects, uses no proxy and no cookies, and keeps no connections.
 *
 * The courier (worker/courier) serves the same messages, but only those of
 * purpose FETCH_CENTRE, which the fetcher refuses: it has the key of this
 * host's worker, and sends it nowhere but to [agent] url.
 */
#pragma once

#include "base/conf.h"
#include "base/msg.h"
#include "base/url.h"

#include <sys/socket.h>

#define FETCH_MAX         64 /* at the same time */
#define FETCH_MAX_HEADERS 2048
#define FETCH_TENANT      64 /* with its NUL */

enum fetch_error {
	FETCH_OK,
#define FETCH_ERROR(code, text) FETCH_##code,
#include "fetch.def"
#undef FETCH_ERROR
	FETCH_ERRORS
};
/* Returns one line for people; "" for FETCH_OK. */
const char *fetch_error_text(enum fetch_error e);

enum fetch_type { MSG_FETCH = 1, MSG_FETCH_CANCEL, MSG_FETCHED };
enum fetch_method { FETCH_GET, FETCH_POST };
/* Selects the list of hosts that applies. */
enum fetch_purpose {
	FETCH_PPROF,
	FETCH_DEBUGINFOD,
	FETCH_WEBHOOK,
	FETCH_COLLECTOR,
	FETCH_CENTRE,
	FETCH_PURPOSES
};

/*
 * Seconds for which a fetcher or a courier may be silent. Both add 1 to an
 * eventfd of the opener's, every WORKER_ALIVE_NS (messages.h). They never wait
 * for anything but events, so the limit is lower than that of other parts.
 */
#define FETCH_MAX_SILENCE_S 10
static inline int64_t
fetch_silence_s(const struct conf *conf)
{
	return conf->worker_watchdog < FETCH_MAX_SILENCE_S
	               ? conf->worker_watchdog
	               : FETCH_MAX_SILENCE_S;
}

/* Files that the courier and the fetcher read after they lost the right to open
 * any: descriptors, or -1. */
struct fetch_secrets {
	int key, cert, cert_key; /* the courier's */
	int headers;             /* the fetcher's, for collectors */
};

struct fetch_ask {
	uint32_t type;
	uint32_t method, purpose;
	uint32_t connect_ms, total_ms;
	uint32_t reserved;
	uint64_t id;        /* chosen by the client, unique among its fetches */
	uint64_t max_bytes; /* of the answer's body */
	char url[URL_MAX + 1];
	char headers[FETCH_MAX_HEADERS]; /* lines "Name: value\n" */
	char tenant[FETCH_TENANT];       /* whose scope applies; "" for
	                                    debuginfod, whose servers are
	                                    configured */
};

struct fetch_answer {
	uint32_t type;
	uint32_t error;  /* enum fetch_error */
	uint32_t status; /* HTTP status */
	uint32_t reserved;
	uint64_t id;
	uint64_t bytes; /* of the body */
#define FETCH_HEADER(field, name, size) char field[size];
#include "fetch.def"
#undef FETCH_HEADER
};

struct fetch_cancel {
	uint32_t type;
	uint32_t reserved;
	uint64_t id;
};

/*
 * Fetching over HTTP: what the scheduler and the fetcher say to each other,
 * over a SOCK_SEQPACKET pair (proto.h: socket f).
 *
 *    scheduler to fetcher
 *    FETCH      + 0 or 1 descriptor: the body to send, from offset 0, or
 *               of a GET an empty file for the one that comes. Answered by
 *               one FETCHED.
 *    CANCEL     ends one: the connection is closed, nothing is answered.
 *    fetcher to scheduler
 *    FETCHED    error = 0: whatever status the server gave, + 1 descriptor,
 *               the file with the body, a memfd unless FETCH brought one.
 *               The bytes are a stranger's: only a
 *               sandboxed finisher looks into them. error > 0: an enum
 *               fetch_error, no descriptor.
 *
 * The fetcher decides what may be fetched, by configuration and purpose: http
 * and https, hosts of the purpose's list and of the tenant's scope, for
 * debuginfod only the servers' files by build-id, and no address of
 * FETCH_DENIED (fetch.def), whatever its name. Redirects are not followed, no
 * proxy and no cookie is used, connections are not kept.
 *
 * The courier (worker/courier) is a process of the same kind, and takes the
 * same messages of purpose FETCH_CENTRE alone, which the fetcher refuses: it
 * has the key of this host's worker, and sends it to [agent] url and nowhere
 * else.
 */
#pragma once

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
/* The list of hosts that applies. */
enum fetch_purpose {
	FETCH_PPROF,
	FETCH_DEBUGINFOD,
	FETCH_WEBHOOK,
	FETCH_CENTRE,
	FETCH_PURPOSES
};

/* Files that the courier reads once it can open no more: descriptors, or -1. */
struct fetch_secrets {
	int key, cert, cert_key;
};

struct fetch_ask {
	uint32_t type;
	uint32_t method, purpose;
	uint32_t connect_ms, total_ms;
	uint32_t reserved;
	uint64_t id;        /* chosen by the asker, for one fetch at a time */
	uint64_t max_bytes; /* of the answer's body */
	char url[URL_MAX + 1];
	char headers[FETCH_MAX_HEADERS]; /* lines "Name: value\n" */
	char tenant[FETCH_TENANT];       /* whose scope applies; "" for
	                                    debuginfod, whose servers only
	                                    configuration names */
};

struct fetch_answer {
	uint32_t type;
	uint32_t error;  /* enum fetch_error */
	uint32_t status; /* of HTTP */
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

/*
 * One transfer of the fetcher: the checks of the request, and the use of
 * libcurl.
 */
#pragma once

#include "base/buf.h"
#include "fetcher.h"

#include <curl/curl.h>

/* The centre, and the courier's credentials there. */
struct centre {
	const char *url;           /* the prefix of all addresses */
	struct buf authorization;  /* a header line */
	struct buf cert, cert_key; /* PEM; empty: none */
};

struct fetcher {
	const struct conf *conf;
	const char *own;
	int socket, alive;
	CURLM *multi;
	struct buf ca;               /* certificates, PEM */
	const struct centre *centre; /* the courier's; NULL: the fetcher */
	const char *ca_file;
	struct buf headers; /* for collectors: collector_headers.h */
	bool no_headers;    /* they could not be read */
	uint64_t held;      /* bytes of incoming bodies */
	struct transfer *transfers[FETCH_MAX];
};

struct transfer {
	struct fetcher *fetcher;
	CURL *easy;
	struct curl_slist *headers;
	int in, out; /* body to send, or -1; file for the answer */
	bool given;  /* out came with the request: its bytes don't count in
	                held */
	off_t sent;
	uint64_t max_bytes;
	bool local;  /* the host is this machine by name */
	bool denied; /* its address was refused */
	bool too_large;
	size_t header_bytes; /* of the answer, so far */
	struct fetch_answer answer;
};

/*
 * Serves the socket until the scheduler is gone.
 *   Shape    all but multi, ca, held and transfers is set
 *   Errors   -EPIPE the scheduler is gone; -errno
 */
MUST_CHECK int fetcher_serve(struct fetcher *f);
void transfer_free(struct transfer *t);
/*
 * Prepares a transfer; the caller starts it.
 *   Owns     *out is the caller's; in (-1: none) is taken, also on failure
 *   Errors   the error to answer with
 */
MUST_CHECK enum fetch_error
transfer_new(struct fetcher *f, const struct fetch_ask *ask, int in,
             struct transfer **out);
/* Translates libcurl's result of a transfer. */
enum fetch_error transfer_result(const struct transfer *t, CURLcode code);
/* Takes a line of the answer's header, "Name: value\r\n", which has no NUL at
 * its end; a value that is too long is dropped. */
void transfer_header(struct fetch_answer *a, const char *p, size_t n);
/* True if a connection to the address may be opened. local: the URL names this
 * machine as its host; only then are this machine's addresses allowed. */
bool fetch_address_ok(const struct sockaddr *a, socklen_t n, bool local);

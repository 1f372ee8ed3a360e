/* One transfer of the fetcher: its checks, and libcurl's part of it. */
#pragma once

#include "base/buf.h"
#include "fetcher.h"

#include <curl/curl.h>

struct fetcher {
	const struct conf *conf;
	const char *own;
	int socket;
	CURLM *multi;
	struct buf ca; /* certificates, PEM */
	uint64_t held; /* bytes of bodies that are coming in */
	struct transfer *transfers[FETCH_MAX];
};

struct transfer {
	struct fetcher *fetcher;
	CURL *easy;
	struct curl_slist *headers;
	int in, out; /* body to send or -1; body that comes */
	bool given;  /* out came along: its bytes are not held here */
	off_t sent;
	size_t size; /* of the body to send */
	uint64_t max_bytes;
	bool local;  /* the host is this machine by name */
	bool denied; /* its address was refused */
	bool too_large;
	struct fetch_answer answer;
};

void transfer_free(struct transfer *t);
/*
 * Prepares one; the caller starts it.
 *   Owns     *out is the caller's, and takes in (-1: none) in any case
 *   Errors   what to answer
 */
MUST_CHECK enum fetch_error
transfer_new(struct fetcher *f, const struct fetch_ask *ask, int in,
             struct transfer **out);
/* What its end means. */
enum fetch_error transfer_result(const struct transfer *t, CURLcode code);
/* True when a connection to that address may be opened. local: the host is
 * this machine by name, which is the one way to its own addresses. */
bool fetch_address_ok(const struct sockaddr *a, socklen_t n, bool local);

/*
 * Webhooks of triggers that fired: once the capture has ended, its link is
 * posted by the fetcher, and again with growing pauses when that fails. A
 * worker that dies sends what it had not noted as sent: a receiver may get
 * one twice, and tells by its `firing`.
 */
#pragma once

#include "store/link.h"
#include "store/trigger.h"
#include "worker/captures/runs.h"

#define WEBHOOKS_MAX 8 /* under way at once */

struct webhooks {
	struct runs *runs;
	const char *host;
	/* Has a fetcher run; 0 or -errno. */
	int (*want_fetcher)(void *arg);
	void *arg;
	struct link_keys links;
	bool waits; /* some may: look again */
	int64_t next_ns;
	struct webhook {
		uint64_t fetch; /* 0: unused */
		char firing[ID_MAX];
		int64_t tries; /* before this one */
	} items[WEBHOOKS_MAX];
};

/* Sends what is due. */
void webhooks_step(struct webhooks *w, int64_t now_ns);
/* An answer of the fetcher; false: it is about none of these. */
bool webhooks_fetched(struct webhooks *w, const struct fetch_answer *a);
void webhooks_fetcher_gone(struct webhooks *w);

/*
 * Webhooks of triggers that fired. Once the capture has ended, the fetcher
 * posts a link to it; after a failure it tries again, with growing pauses.
 * After a crash, webhooks that were not recorded as sent are sent again:
 * receivers recognize repetitions by `firing`.
 */
#pragma once

#include "store/link.h"
#include "store/trigger.h"
#include "worker/captures/runs.h"

#define WEBHOOKS_MAX 8 /* in progress at once */

struct webhooks {
	struct runs *runs;
	const char *host;
	/* Makes sure that a fetcher runs. Returns 0 or -errno. */
	int (*want_fetcher)(void *arg);
	void *arg;
	struct link_keys links;
	bool waits; /* some may be due soon: check again */
	int64_t next_ns;
	struct webhook {
		uint64_t fetch; /* 0: unused */
		char firing[ID_MAX];
		int64_t tries; /* before this one */
	} items[WEBHOOKS_MAX];
};

/* Sends webhooks that are due. */
void webhooks_step(struct webhooks *w, int64_t now_ns);
/* Takes an answer of the fetcher; false if it is not about a webhook. */
bool webhooks_fetched(struct webhooks *w, const struct fetch_answer *a);
void webhooks_fetcher_gone(struct webhooks *w);

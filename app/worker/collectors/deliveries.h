/*
 * Sends profiles to the collectors of their services (store/delivery.h): one
 * per service at a time, the oldest first.
 *
 *	oldest delivery ─ EXPORT ─> request ─ fetcher ─> reply ─ EXPORT ─> end
 *
 * A child of the analyser makes the request, and reads the reply: both files
 * are untrusted. Requests that fail for a reason that may pass are sent again,
 * with growing pauses, for as long as [collector] keep; what a collector
 * refuses is dropped, as the protocol requires. After a crash, a profile whose
 * end was not recorded is sent again: receivers recognize it by its
 * profile_id.
 */
#pragma once

#include "store/delivery.h"
#include "worker/captures/runs.h"

#define DELIVERIES_MAX 8 /* in progress at once */

struct deliveries {
	struct runs *runs;
	const char *host;
	/* Makes sure that a fetcher runs. Returns 0 or -errno. */
	int (*want_fetcher)(void *arg);
	void *arg;
	int64_t next_ns;
	int64_t upkeep_ns; /* when queues are next looked at as a whole */
	bool asked;        /* the analyser has a batch */
	struct delivering {
		enum {
			DELIVERY_NONE,
			DELIVERY_WAITS,    /* for the next batch */
			DELIVERY_IS_MADE,  /* the analyser makes the request */
			DELIVERY_IS_SENT,  /* the fetcher has it */
			DELIVERY_ANSWERED, /* the reply waits for a batch */
			DELIVERY_IS_READ,  /* the analyser reads the reply */
		} state;
		struct delivery of;
		uint64_t fetch; /* id of the request, while it is sent */
		uint64_t bytes; /* of the request, while it is sent */
		int reply;      /* once it is answered */
	} items[DELIVERIES_MAX];
	/* services whose last profile was not sent, or only in part */
	struct delivery_trouble {
		char *tenant, *service;
		char message[320];
		int64_t since_ms;
		int64_t dropped;
		unsigned failures; /* in a row; 0: the next one may be sent */
		int64_t next_ns;
	} * troubles;
	size_t ntroubles;
	/* the delivery at which a child of the analyser last died */
	struct {
		char source[ID_MAX];
		unsigned deaths;
	} deadly;
	struct delivery_host counts;
};

void deliveries_done(struct deliveries *d);
/* Sends what is due. */
void deliveries_step(struct deliveries *d, int64_t now_ns);
/* Takes an answer to EXPORT. Owns both descriptors, which may be -1. */
void deliveries_take(struct deliveries *d, const struct msg_batch *m, int data,
                     int rows, int64_t now_ns);
/* Takes an answer of the fetcher, and its body; false if it is not about a
 * delivery. */
struct fetch_answer;
bool deliveries_fetched(struct deliveries *d, const struct fetch_answer *a,
                        int *body, int64_t now_ns);
void deliveries_fetcher_gone(struct deliveries *d, int64_t now_ns);
/* Handles the analyser's death: its batch is made again. */
void deliveries_analyser_gone(struct deliveries *d);
/* Writes counts and problems as the member collectors. */
void deliveries_json(struct deliveries *d, struct buf *out);

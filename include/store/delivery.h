/*
 * Deliveries: profiles that wait to be sent to the collector of their service.
 *
 * A service may have a collector, the address of a server that takes profiles
 * of OpenTelemetry. Each capture of the service that ends with a profile, and
 * each of its windows of continuous profiling, is queued in the transaction
 * that stores it, and sent by the worker of the host that took it
 * (worker/collectors/deliveries.h). What was pushed or uploaded is not sent: it
 * may come from that collector.
 *
 * A row refers to the profile, which retention may remove. The worker of a host
 * of a fleet removes sessions that the centre has; one that still waits for a
 * collector is removed once its delivery has ended.
 */
#pragma once

#include "base/json.h"
#include "store/store.h"

struct delivery {
	char *source; /* id of the session or the window */
	char *tenant, *service;
	char *collector; /* address; "": the service no longer has one */
	int64_t queued_ms;
};
struct delivery_list {
	struct delivery *items;
	size_t n;
};
#define CLEANUP_DELIVERIES CLEANUP(delivery_list_done)
void delivery_list_done(struct delivery_list *l);

/* Queues a session of this host, within the transaction that ends it, if its
 * service has a collector. */
MUST_CHECK int delivery_add_session(struct store *s, const char *session);
/* Lists the oldest delivery of each service that has a collector, at most max;
 * one of each tenant comes first. */
MUST_CHECK int delivery_oldest(struct store *s, const char *host, int max,
                               struct delivery_list *out);
/* Lists deliveries of services that no longer have a collector. */
MUST_CHECK int delivery_unwanted(struct store *s, const char *host, int max,
                                 struct delivery_list *out);
/* Lists deliveries of a service that are older than its newest most. */
MUST_CHECK int
delivery_excess(struct store *s, const char *host, const char *tenant,
                const char *service, int64_t most, int max,
                struct delivery_list *out);
MUST_CHECK int
delivery_waiting(struct store *s, const char *host, int64_t *out);
/* Removes a delivery; a missing one is not an error. */
MUST_CHECK int
delivery_end(struct store *s, const char *tenant, const char *source);
/* Removes deliveries that have been queued for max_age_ms, on any host, except
 * those whose session ends with them; returns their number. */
MUST_CHECK int delivery_prune(struct store *s, int64_t max_age_ms);

/* --- what a worker publishes ---------------------------------------------- */

/* The deliveries of a host: the rows of delivery_host.def. */
struct delivery_host {
#define DELIVERY_FIGURE(member, key, metric, kind, meaning) int64_t member;
#include "store/delivery_host.def"
};
/* Appends all figures as members of a JSON object. */
void delivery_host_put(const struct delivery_host *h, struct buf *out);
/* Reads what delivery_host_put() wrote; a missing figure is 0. */
void delivery_host_read(const json_t *j, struct delivery_host *out);

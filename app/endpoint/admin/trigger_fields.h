/*
 * The fields of a trigger, which PUT and POST share.
 */
#pragma once

#include "endpoint/call.h"
#include "store/trigger.h"

/* First rows of an operation, in the order of TRIGGER_FIELDS. */
struct trigger_rows {
	enum param service, name, when, capture, webhook, cooldown, enabled;
};
#define TRIGGER_ROWS(op)                  \
	((struct trigger_rows){           \
		P_##op##_name,            \
		P_##op##_trigger,         \
		P_##op##_when,            \
		P_##op##_capture,         \
		P_##op##_webhook,         \
		P_##op##_cooldownSeconds, \
		P_##op##_enabled,         \
	})

/*
 * Checks what rows can't express, and fills a trigger of the caller's tenant.
 *   Owns     strings of *out are the call's
 *   Errors   0, or -1 with the reply
 */
MUST_CHECK int trigger_read(struct call *c, const struct trigger_rows *rows,
                            struct trigger *out);
/* Writes the members of a trigger; whole: with its webhook, which may be a
 * secret. */
void trigger_put(struct buf *out, const struct trigger *t, bool whole);

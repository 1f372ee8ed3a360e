/*
 * Reports services that are not profiled continuously because the worker is at
 * its limit. The API shows them as problems until there is room:
 *
 *	left_out_begin(&l);
 *	left_out_add(&l, tenant, service, type);   for each
 *	left_out_end(&l, windows);
 */
#pragma once

#include "watches.h"

/* Services beyond this number are only counted. */
#define LEFT_OUT_NAMED 256

void left_out_begin(struct left_out *l);
MUST_CHECK int left_out_add(struct left_out *l, const char *tenant,
                            const char *service, const char *type);
/* Reports services that are left out now, and those that no longer are. */
void left_out_end(struct left_out *l, struct watches *w);
void left_out_done(struct left_out *l);

/*
 * What is not profiled all the time because one worker takes no more. It is
 * told where the API tells what can't be taken, until that is over:
 *
 *	left_out_begin(&l);
 *	left_out_add(&l, tenant, service, type);   for each
 *	left_out_end(&l, windows);
 */
#pragma once

#include "watches.h"

/* Those beyond are counted, and not named. */
#define LEFT_OUT_NAMED 256

void left_out_begin(struct left_out *l);
MUST_CHECK int left_out_add(struct left_out *l, const char *tenant,
                            const char *service, const char *type);
/* Tells who is left out since the last time, and who no longer is. */
void left_out_end(struct left_out *l, struct windows *w);
void left_out_done(struct left_out *l);

/* Sessions and baselines, as several commands ask for them. */
#pragma once

#include "cli.h"

#define FAMILY "/api/v1/profiling"

/* Appends FAMILY and the rest, then one more segment. */
void family_path(struct buf *out, const char *rest, const char *id);
/* Appends ?service=&profileType= as the options say. */
void filter_path(const struct cli *c, struct buf *out);
/*
 * The session itself.
 *   Owns     *out is the caller's; reply_done() it
 *   Errors   as ask()
 */
MUST_CHECK int ask_session(struct cli *c, const char *id, struct reply *out);
/* A member as text, "" when it is none. */
const char *json_member(const json_t *j, const char *key);
/* Appends what a comparison is asked to test, as the options say. */
void work_query(const struct cli *c, struct buf *path);
/* "cost per second: +12.3 % (95 %: +3.0 to +22.0)", and how it was tested */
void delta_show(struct buf *out, const json_t *comparison);
/* The link to the flame graph of two profiles, where the reply has it. */
void diff_link_show(struct buf *out, const json_t *reply);
/* Functions of a comparison: at most limit, all when that is negative. */
void changes_show(struct buf *out, const json_t *rows, int64_t limit);

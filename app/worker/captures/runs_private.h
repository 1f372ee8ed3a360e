/* What the files about captures share. */
#pragma once

#include "runs.h"

struct capture *captures_find(struct captures *c, const char *id);
/* Forgets it; unnamed bytes are removed. */
void captures_drop(struct captures *c, struct capture *v);
/* STOP or CHECKPOINT, the latter with a descriptor. */
MUST_CHECK int captures_tell(struct captures *c, const struct capture *v,
                             enum msg_type type, int fd);
/* Ends it now, once. */
void captures_stop(struct captures *c, struct capture *v);
/*
 * Adds a capture with a blob to write to.
 *   Owns     *job is taken, also on failure
 *   Errors   -ENOMEM, -EMFILE: the job will be taken over; *out becomes NULL
 *            when the capture failed at once, which its job then says
 */
MUST_CHECK int captures_add(struct captures *c, struct job *job, int64_t now_ns,
                            struct capture **out);
/* Ends one that was cancelled before there was anything to keep. */
void captures_cancelled(struct captures *c, struct capture *v);
/* --- of one that is pulled: captures_pull.c ------------------------------- */
void captures_pull_free(struct pull *p);
double captures_pull_progress(const struct capture *v);
/* Gives up what is being fetched; a finisher's work goes on. */
void captures_pull_stop(struct captures *c, struct capture *v);
/* True when it was stopped, and nothing more comes. */
bool captures_pull_ended(const struct capture *v);
/* What there is to say of its quality beside. */
uint64_t captures_pull_notes(const struct capture *v);
/* True when this DONE is not the end. */
bool captures_pull_done(struct captures *c, struct capture *v,
                        const struct msg_done *done, int top_fd);
/* Fails it in the store and drops it. */
void captures_fail(struct captures *c, struct capture *v,
                   enum capture_error error, int sys_error);
/* Takes a DONE and its descriptor, which stays the caller's. */
void captures_take(struct captures *c, struct capture *v,
                   const struct msg_done *done, int top_fd);
/* The array of topFunctions, proven to be one; compact. */
MUST_CHECK int captures_read_top(int fd, struct buf *out);
/* Asks for a checkpoint when one is due. */
void captures_checkpoint(struct captures *c, struct capture *v, int64_t now_ns);

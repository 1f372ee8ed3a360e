/* The parts of runs.h that only the files of this folder use. */
#pragma once

#include "runs.h"

struct run *runs_find(struct runs *c, const char *id);
/* Forgets it; unnamed bytes are removed. */
void runs_drop(struct runs *c, struct run *v);
/* STOP or CHECKPOINT, the latter with a descriptor. */
MUST_CHECK int
runs_tell(struct runs *c, const struct run *v, enum msg_type type, int fd);
/* Ends it now, once. */
void runs_stop(struct runs *c, struct run *v);
/*
 * Adds a capture with a blob to write to.
 *   Owns     *job is taken, also on failure
 *   Errors   -ENOMEM, -EMFILE: the job will be taken over; *out becomes NULL
 *            when the capture failed at once, which its job then says
 */
MUST_CHECK int
runs_add(struct runs *c, struct job *job, int64_t now_ns, struct run **out);
/* Ends one that was cancelled before there was anything to keep. */
void runs_cancelled(struct runs *c, struct run *v);
/* --- of one that is pulled: runs_pull.c ------------------------------- */
void runs_pull_free(struct pull *p);
double runs_pull_progress(const struct run *v);
/* Gives up what is being fetched; a finisher's work goes on. */
void runs_pull_stop(struct runs *c, struct run *v);
/* True when it was stopped, and nothing more comes. */
bool runs_pull_ended(const struct run *v);
/* What there is to say of its quality beside. */
uint64_t runs_pull_notes(const struct run *v);
/* True when this DONE is not the end. */
bool runs_pull_done(struct runs *c, struct run *v, const struct msg_done *done,
                    int top_fd);
/* Fails it in the store and drops it. */
void runs_fail(struct runs *c, struct run *v, enum capture_error error,
               int sys_error);
/* Takes a DONE and its descriptor, which stays the caller's. */
void runs_take(struct runs *c, struct run *v, const struct msg_done *done,
               int top_fd);
/* The array of topFunctions, proven to be one; compact. */
MUST_CHECK int runs_read_top(int fd, struct buf *out);
/* Asks for a checkpoint when one is due. */
void runs_checkpoint(struct runs *c, struct run *v, int64_t now_ns);

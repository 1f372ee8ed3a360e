/*
 * The parts of runs.h for the files of this folder only.
 */
#pragma once

#include "runs.h"

struct run *runs_find(struct runs *c, const char *id);
/* Drops a run, and removes bytes without a row. */
void runs_drop(struct runs *c, struct run *v);
/* Sends STOP or CHECKPOINT, the latter with a descriptor. */
MUST_CHECK int
runs_tell(struct runs *c, const struct run *v, enum msg_type type, int fd);
/* Ends a run now; does so once. */
void runs_stop(struct runs *c, struct run *v);
/*
 * Adds a run, with a blob to write to.
 *   Owns     *job is taken, also on failure
 *   Errors   -ENOMEM, -EMFILE: the job will be taken over; *out is NULL when
 *            the capture failed at once, which its job then records
 */
MUST_CHECK int
runs_add(struct runs *c, struct job *job, int64_t now_ns, struct run **out);
/* Ends one that was cancelled before there was anything to keep. */
void runs_cancelled(struct runs *c, struct run *v);
/* --- of one that is pulled: runs_pull.c ------------------------------- */
void runs_pull_free(struct pull *p);
double runs_pull_progress(const struct run *v);
/* Gives up a fetch; a finisher's work goes on. */
void runs_pull_stop(struct runs *c, struct run *v);
/* True when a run was stopped, and no further result will come. */
bool runs_pull_ended(const struct run *v);
/* Returns quality notes about the fetch. */
uint64_t runs_pull_notes(const struct run *v);
/* Handles a DONE of a fetched capture; true when another step follows. */
bool runs_pull_done(struct runs *c, struct run *v, const struct msg_done *done,
                    int top_fd);
/* Fails a run in the store, and drops it. */
void runs_fail(struct runs *c, struct run *v, enum capture_error error,
               int sys_error);
/* Takes a DONE and its descriptor, which stays the caller's. */
void runs_take(struct runs *c, struct run *v, const struct msg_done *done,
               int top_fd);
/* Reads and checks the array of topFunctions; compact. */
MUST_CHECK int runs_read_top(int fd, struct buf *out);
/* Asks for a checkpoint when one is due. */
void runs_checkpoint(struct runs *c, struct run *v, int64_t now_ns);

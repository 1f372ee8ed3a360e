/*
 * The scheduler is the process of the worker that knows the store. It claims
 * this host's jobs and has the analyser do them, publishes processes, renews
 * leases and the heartbeat, and cleans up.
 *
 * SIGTERM or SIGINT ends it: captures of up to JOB_RERUN_SECONDS go back to the
 * queue, longer ones are ended and stored as far as they got; captures that are
 * not stored within STOP_NS are left to the next worker, as after a crash.
 */
#pragma once

#include "base/conf.h"
#include "worker/ipc/messages.h"

#define STOP_NS INT64_C(10000000000)

/*
 * Runs until it is told to stop, or the opener is gone; logs errors.
 *   Shape    the store's directory must be writable for this process
 *   Errors   an exit status: 0, or 1 when it could not start
 */
int scheduler_run(const struct conf *conf, const struct worker_sockets *io);

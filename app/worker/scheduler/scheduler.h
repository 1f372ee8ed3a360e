/*
 * The scheduler is the process of the worker that uses the store. It claims
 * this host's jobs and has the analyser do them, publishes processes, renews
 * leases, sends heartbeats, and cleans up.
 *
 * SIGTERM or SIGINT ends it. Captures of up to JOB_RERUN_SECONDS return to the
 * queue; longer ones end early, and what they captured is stored. Captures that
 * are not stored within STOP_NS are left to the next worker, as after a crash.
 */
#pragma once

#include "base/conf.h"
#include "worker/ipc/messages.h"

#define STOP_NS INT64_C(10000000000)

/*
 * Runs until a signal ends it, or the opener is gone; logs errors.
 *   Shape    the store's directory must be writable for this process
 *   Errors   an exit status: 0, or 1 if it could not start
 */
int scheduler_run(const struct conf *conf, const struct worker_sockets *io);

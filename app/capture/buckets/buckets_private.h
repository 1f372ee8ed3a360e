/* What the two ways of reading buckets share: one look after the other, and
 * each compared to what the last one left. */
#pragma once

#include "bucket_rows.h"
#include "capture/process/process.h"

/* What is counted when it was us who turned it on. */
#define BLOCK_CYCLES 20000 /* some 10 us; shorter ones by chance */
#define MUTEX_ONE_OF 5

/* A process that is looked at. */
struct looked {
	struct process *proc;
	uint32_t module; /* its program */
	struct memory mem;
	struct gobin *bin;
	struct go_profiles at;
	int64_t rate;
	struct go_buckets before;
};

struct buckets {
	const struct host *host;
	enum buckets_type type;
	bool turn_on, keep_on; /* keep: for windows, until told otherwise */
	uint32_t turned_on;    /* processes */
	uint32_t unread;       /* the same: they could not be looked at */
	struct modules *modules;
	struct memory_spare spare;
	struct looked *rows;
	uint32_t n, room;
	uint64_t boot_ns; /* of the first look; CLOCK_BOOTTIME */
	int64_t start_ms;
	int64_t start_ns;
	uint64_t start_cycles;
};

void looked_done(struct looked *v);
#define CLEANUP_LOOKED CLEANUP(looked_done)

/*
 * Finds the program of a process, and where it keeps what is asked for.
 *
 *   Shape    *v is {0}; looked_done() it, also on failure. b's modules are
 *            there
 *   Errors   of buckets_open(); -ENODATA: all the same it can be read, and
 *            the rate is 0
 */
MUST_CHECK int buckets_look(struct buckets *b, struct looked *v, int32_t pid);
/* When a process began, as struct host_usage tells; -ESRCH, -ENOMEM. */
MUST_CHECK int
buckets_began(const struct buckets *b, int32_t pid, uint64_t *out);
enum go_list buckets_list(enum buckets_type type);
/* Has what a program does not count be counted; after it was read. */
MUST_CHECK int buckets_turn_on(struct buckets *b, struct looked *v);
/* Has what was turned on for another be so for us, too. */
void buckets_stay_on(struct buckets *b, struct looked *v);
/* One process was had of no use to the others: whether all fail with it. */
bool buckets_is_fatal(int rc);
/* Which of two processes' errors tells more: that a Go program's profile is
 * off, say, rather than that a shell beside it is no Go program. */
int buckets_telling(int last, int rc);

/* The later look. */
struct second {
	struct buckets *b;
	struct go_elapsed elapsed;
	struct profile *p;
	struct quality *q;
};

/* Adds what a process has now beyond v->before. */
MUST_CHECK int buckets_add_rows(const struct second *s, struct looked *v,
                                const struct go_buckets *now);
/* Sets type, time and duration of the profile. */
MUST_CHECK int
buckets_header(const struct second *s, int64_t start_ms, int64_t rate);

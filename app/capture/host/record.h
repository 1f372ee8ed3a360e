/*
 * One record of a perf ring, or of a filter's, decoded.
 *
 * Only records of the events of event.h are understood. The bytes come from the
 * kernel, but lengths are checked all the same: texts in them are the target's,
 * and tests replay recorded rings.
 *
 * Source: perf_event_open(2), "MMAP layout"; linux/perf_event.h.
 */
#pragma once

#include "base/cleanup.h"
#include "capture/event.h"
#include "capture/interp/interp_layout.h"
#include "emit_layout.h"

#include <stdbool.h>
#include <stdint.h>

#define RECORD_BUILD_ID 20
#define RECORD_REGS     33 /* indexed as in asm/perf_regs.h */

enum record_kind {
	RECORD_OTHER,
	RECORD_SAMPLE,
	RECORD_FORK, /* of a process or thread */
	RECORD_EXIT, /* of a thread */
	RECORD_COMM,
	RECORD_MMAP,
	RECORD_LOST,
	RECORD_THROTTLE,
};

/* How much a sample stands for. */
struct amount {
	uint64_t value;  /* ns */
	uint64_t events; /* in units of 1 / AMOUNT_EVENT */
	uint64_t bytes;  /* that calls transferred; 0: nothing is counted */
};
#define AMOUNT_EVENT 1024u

struct record {
	enum record_kind kind;
	uint32_t pid, tid; /* pid: the process */
	uint64_t time_ns;  /* CLOCK_MONOTONIC */
	union {
		struct {
			uint64_t ip;
			const uint8_t *chain; /* the kernel's part, unaligned
			                         u64 */
			size_t nchain;
			bool no_user;  /* the user part was left out, or
			                  there never was one */
			bool has_user; /* regs and stack are there */
			bool is_32;    /* of a 32-bit program, which is not
			                  unwound: has_user is false, but regs
			                  holds the program counter */
			uint64_t regs[RECORD_REGS];
			const uint8_t *stack;
			size_t stack_len;
			bool stack_cut; /* the copy has the maximum size: the
			                   stack may go on */
			const struct emit_event *emitted; /* NULL: a sample of
			                                     the clock */
			/* After the event, or after the rest of a sample of
			 * the clock: an interp_stack, unaligned, if there are
			 * enough bytes for one. */
			const uint8_t *behind;
			size_t behind_len;
			/* set by the sampler: */
			struct amount amount;
			const struct interp_stack *interp; /* or NULL */
			const uint8_t *context;            /* of the thread */
			size_t context_len;                /* 0: it has none */
		} sample;
		struct {
			uint32_t ppid, ptid;
		} fork;
		struct {
			bool exec;
			const char *name;
		} comm;
		struct {
			uint64_t start, len, offset, inode;
			uint32_t major, minor; /* device; 0 with build_id */
			uint32_t build_id_size;
			uint8_t build_id[RECORD_BUILD_ID];
			bool executable;
			const char *path;
		} mmap;
		uint64_t lost;
	};
	struct emit_event emitted; /* where sample.emitted points */
};

/*
 * Decodes one whole record. emits: all samples of the ring contain bytes that
 * a BPF program wrote.
 *   Owns     *out points into p
 *   Errors   -EBADMSG when lengths do not fit; *out undefined
 */
MUST_CHECK int
record_parse(const void *p, size_t n, bool emits, struct record *out);
/* Returns the record's time alone; 0 when the record is too short to have
 * one. */
uint64_t record_time(const void *p, size_t n);

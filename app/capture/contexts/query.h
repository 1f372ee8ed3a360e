/*
 * The query that a PostgreSQL process runs: its identifier, as
 * pg_stat_activity shows it, if the server computes one (compute_query_id).
 *
 * Each process of a server has an entry in shared memory. The layout changes
 * with the version and build options, so the offset of the identifier is read
 * from the instructions of a function that returns it. The distance between
 * the identifier and the state of the process is the same in all versions.
 *
 *   Source   PostgreSQL 14 to 18, backend_status.h: struct PgBackendStatus;
 *            backend_status.c: pgstat_get_my_query_id()
 */
#pragma once

#include "capture/elf/elf.h"
#include "capture/interp/interp_layout.h"

#define QUERY_LABEL "postgresql.queryid"
#define QUERY_TEXT  24 /* bytes of an identifier as text, with a NUL */

/* The place where a program keeps the query. */
struct query_at {
	uint64_t entry;   /* vaddr of the variable that leads to the entry */
	uint32_t id;      /* offset in the entry */
	uint32_t running; /* the state of a process that runs a query */
};

/*
 * Finds that place in a program's file.
 *   Errors   -ENOENT the file is not such a server; -EIO, -ENOMEM
 */
MUST_CHECK int query_find(const struct elf_image *e, struct query_at *out);
/* Sets what the BPF program reads in a process, except pid. */
void
query_resolve(const struct query_at *q, uint64_t bias, struct context_at *out);
/*
 * Reads the identifier, as text, from what the kernel has read; false if the
 * process runs no query, or one without an identifier.
 */
bool query_parse(const struct query_at *q, const uint8_t *p, size_t n,
                 char out[static QUERY_TEXT]);

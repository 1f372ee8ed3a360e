/*
 * A profile's call tree, as in the server's format=json, and the tables made
 * from it: functions, the callers or callees of one, the tree.
 *
 * The peers of sockets that differ only in a port that the kernel chose are one
 * frame. Source: ip(7), ip_local_port_range.
 */
#pragma once

#include "base/cleanup.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

#define GRAPH_NONE UINT32_MAX

struct graph_function {
	char *name;
	const char *package, *file; /* as in the reply */
	int64_t line;
};

struct graph {
	json_t *reply;
	uint32_t n; /* nodes in preorder; 0 is the root */
	struct graph_node {
		uint32_t parent, function;
		int64_t self, total;
	} * nodes;
	uint32_t nfunctions;
	struct graph_function *functions;
	uint32_t *title; /* by function, after graph_split(): the function that
	                    stands for its unit or program, or GRAPH_NONE; else
	                    NULL */
	uint32_t *in;    /* by function, after graph_skip(): the function of an
	                 allocator, lock or runtime in which it spent most of
	                 its self cost, or GRAPH_NONE; else NULL */
};

/*
 *   Shape    reply may be anything
 *   Owns     *out is the caller's; graph_free() it; reply stays the caller's
 *   Errors   -EBADMSG reply is not a graph, -ENOMEM; *out untouched
 */
MUST_CHECK int graph_new(json_t *reply, struct graph **out);
void graph_free(struct graph *g);
DEFINE_CLEANUP(struct graph *, graph_free)
#define CLEANUP_GRAPH CLEANUP(graph_free_ptr)

/*
 * Charges frames of allocators, locks and runtimes (profile/site.h) to their
 * callers. A stack of nothing else keeps its outermost frame with a cost.
 *   Errors   -ENOMEM
 */
MUST_CHECK int graph_skip(struct graph *g);
/* True for a function whose cost graph_skip() charges to its callers. */
bool graph_skips(const struct graph *g, uint32_t function);
/*
 * Separates the functions of units and programs, in a profile of a whole host,
 * whose outermost frames name units and programs. Changes nothing in other
 * profiles.
 *   Errors   -ENOMEM, -E2BIG
 */
MUST_CHECK int graph_split(struct graph *g);
/* Returns the function of the unit or program that a node stands for, or
 * GRAPH_NONE. */
uint32_t graph_title(const struct graph *g, uint32_t node);
/* Finds the function of that name, or the only one whose name contains it. If
 * there is none, prints an error with similar names, and returns an exit
 * status. */
MUST_CHECK int
graph_find(const struct graph *g, const char *name, uint32_t *out);

enum graph_view { GRAPH_SELF, GRAPH_TOTAL, GRAPH_CALLERS, GRAPH_CALLEES };

struct graph_row {
	uint32_t function;
	uint32_t depth;  /* in trees: calls from the first row */
	uint32_t indent; /* columns */
	bool branch;     /* it has siblings */
	int64_t self, total;
};

/*
 * Makes at most limit rows: functions by self or total, or the largest nodes of
 * a tree. GRAPH_CALLERS and GRAPH_CALLEES begin with the function; the callees
 * of the root (function GRAPH_NONE) are the call tree. The cost of a recursive
 * function counts once.
 *
 *   Owns     *out is the caller's; free() it. *left is the number of rows that
 *            the limit left out
 *   Errors   -ENOMEM, -E2BIG; outputs untouched
 */
MUST_CHECK int
graph_rows(const struct graph *g, enum graph_view view, uint32_t function,
           size_t limit, struct graph_row **out, size_t *n, size_t *left);

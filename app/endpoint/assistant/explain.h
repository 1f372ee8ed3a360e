/*
 * Explains the profiles of a service in a page of text: for assistants, which
 * read it instead of a flame graph, and for people.
 *
 * The text begins with the findings, names what is not known, and ends with a
 * link. It is at most EXPLAIN_MAX bytes long. Names from profiled programs are
 * quoted (quote.h).
 */
#pragma once

#include "endpoint/call.h"

/* 1 500 tokens, of four bytes each. */
#define EXPLAIN_MAX ((size_t)6000)

/* The sections of a text. */
enum explain_section {
	EXPLAIN_HOTTEST = 1, /* functions with callers and lines */
	EXPLAIN_CHANGED = 2, /* changes of cost, and since when */
	EXPLAIN_WAITS = 4,   /* locks, other waits, goroutines that leak */
	EXPLAIN_MEMORY = 8,  /* memory in use, and whether it grows */
	EXPLAIN_ALL = 15,
};

/* Returns the sections of a word, such as "hottest" or "waits"; all of them for
 * any other word. */
unsigned explain_sections(const char *word);

struct explain_ask {
	const char *service;
	unsigned sections;      /* bits of enum explain_section */
	const char *type;       /* for hottest and changed; "": cpu */
	const char *function;   /* "": the hottest */
	const char *session;    /* this capture; "": the newest profiles */
	int64_t from_ms, to_ms; /* 0: not given */
};

/*
 * Appends the text about a service.
 *   Errors   -1 with the reply
 */
MUST_CHECK int
explain_service(struct call *c, const struct explain_ask *ask, struct buf *out);
/* Appends the services of the tenant, and what each of them does now. */
MUST_CHECK int explain_services(struct call *c, struct buf *out);

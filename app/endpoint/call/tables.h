/*
 * The tables of the API as C: routes.def, params.def, schemas.def and
 * errors.def, as enums and rows.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call;

enum method {
	METHOD_GET,
	METHOD_HEAD,
	METHOD_POST,
	METHOD_PUT,
	METHOD_DELETE,
	METHOD_OTHER, /* used by no route */
};
extern const char *const method_names[];

/* Stands for a body's size: the body is a profile in any format of inputs.def,
 * up to [upload] max_bytes. */
#define UPLOAD SIZE_MAX
/* Stands for the size of a result: a line of JSON, and the bytes that it
 * describes. */
#define RESULT (SIZE_MAX - 1)
/* Stands for the size of a debug file, which is bounded as an upload. */
#define ELF (SIZE_MAX - 4)
/* Stands for the size of a message of the Connect protocol that has
 * profiles. */
#define CONNECT_UPLOAD (SIZE_MAX - 2)
/* Stands for the size of another message of that protocol, which has at most
 * CONNECT_MAX bytes. */
#define CONNECT     (SIZE_MAX - 3)
#define CONNECT_MAX ((size_t)256 << 10)

/* Replies that an operation may give besides its success and errors. */
enum other_reply {
	STOPPED = 1,        /* 202: a running capture ends */
	UNDER_WAY = 2,      /* 204: the profile is being taken */
	NOT_MODIFIED = 4,   /* 304: If-None-Match names this reply */
	NOTED = 8,          /* 202: a message that expects no reply */
	NOTHING_THERE = 16, /* 204: instead of an error, as optional asks for */
};

/* Access from weak to strong. LINK and SCRAPER are open to a viewer, and to a
 * signed link or a client that nginx allows. WORKER is open to the key of a
 * host's worker alone, which opens nothing else. */
enum who {
	WHO_ANYONE,
	WHO_LINK,
	WHO_SCRAPER,
	WHO_WORKER,
	WHO_VIEWER,
	WHO_OPERATOR,
	WHO_ADMIN,
};
/* Returns "viewer", "operator", "admin" or "worker"; "" for the others. */
const char *who_name(enum who who);
/* Returns WHO_ANYONE for a word that is not a role of a user. */
enum who who_parse(const char *role);

enum op {
#define ROUTE(method, path, handler, who, body, op, status, others, reply, \
              summary)                                                     \
	OP_##op,
#include "routes.def"
#undef ROUTE
	OP_COUNT
};

struct route {
	enum method method;
	const char *path; /* pattern: "/a/{b}" */
	enum who who;
	size_t max_body; /* bytes of JSON; 0: no body */
	bool upload;     /* the body is a profile */
	bool elf;        /* a debug file, not a profile */
	bool result;     /* a line of JSON comes before the profile */
	bool connect;    /* a call of the Connect protocol: see connect.h */
	enum op op;
	const char *name; /* operationId */
	int status;       /* status of success */
	unsigned others;  /* bits of enum other_reply */
	const char *reply, *summary;
};
/* All routes, by enum op. */
extern const struct route routes[OP_COUNT];
/* True for a POST that creates something, and whose reply may be kept for a
 * repeated request. */
bool route_takes_key(const struct route *r);

#define ROUTE(method, path, handler, who, body, op, status, others, reply, \
              summary)                                                     \
	int handler(struct call *c);
#include "routes.def"
#undef ROUTE

enum param {
#define PARAM(op, in, name, type, need, min, max, def, doc) P_##op##_##name,
#define PARAM_AS(op, in, id, name, type, need, min, max, def, doc) \
	P_##op##_##id,
#include "params.def"
#undef PARAM
#undef PARAM_AS
	P_COUNT
};

enum param_in { IN_PATH, IN_QUERY, IN_BODY };
enum param_type {
	PT_TEXT,
	PT_INT,
	PT_BOOL,
	PT_TIME,
	PT_SPAN,
	PT_RESOLUTION,
	PT_MATCHES,
	PT_NAME,
#define ID_KIND(type, unknown, doc, ...) PT_##type,
#include "id_kinds.def"
#undef ID_KIND
	PT_TYPE,
	PT_CAPTURED,
	PT_VIEW,
	PT_INPUT,
	PT_DIFF,
	PT_MEASURE,
	PT_SHAPE,
	PT_KIND,
	PT_SOURCE,
	PT_ROLE,
	PT_WORDS,
	PT_TYPES,
	PT_LABELS,
	PT_OBJECT,
	PT_STATUS,
	PT_ORIGIN,
	PT_MESSAGE,
	PT_ABOUT,
	PT_WINDOWS,
	PT_TAGS,
	PT_FRAMES,
	PT_FUNCTIONS,
	PT_LIST,
};

struct param_row {
	enum op op;
	enum param_in in;
	const char *name;
	enum param_type type;
	bool required;
	int64_t min, max;
	const char *def, *doc;
};
/* All parameters, by enum param. */
extern const struct param_row params[P_COUNT];

/* Members of objects in bodies. */
struct member_row {
	const char *object;
	struct param_row row;
};
extern const struct member_row members[];
extern const size_t nmembers;
/* Finds the row of a member, which must exist. */
const struct param_row *member_find(const char *object, const char *name);

/* Returns the words that a value of this type may have, NULL-terminated; NULL
 * if the type has no fixed words. */
const char *const *param_words(enum param_type type);
/* True if the value is an id of this type, which is one of id_kinds.def. */
bool param_id_valid(enum param_type type, const char *value);
/* Writes what a value must be, for people: "an integer from 1 to 3600". */
void param_expects(const struct param_row *p, struct buf *out);
/* Writes the schema of a value, as in openapi.json. */
void
param_put_schema(struct buf *b, const char *key, const struct param_row *p);

struct schema_row {
	const char *name, *doc;
};
extern const struct schema_row schemas[];
extern const size_t nschemas;

enum field_type {
	FT_STRING,
	FT_STRING_OR_NULL,
	FT_STRINGS,
	FT_INTEGER,
	FT_INTEGERS,
	FT_NUMBER,
	FT_NUMBER_OR_NULL,
	FT_BOOLEAN,
	FT_TIME,
	FT_TIME_OR_NULL,
	FT_URL,
	FT_LIST,
	FT_OBJECT,
	FT_MEMBERS,
};

struct field_row {
	const char *schema, *name;
	enum field_type type;
	const char *of, *doc;
};
extern const struct field_row fields[];
extern const size_t nfields;

enum error {
#define ERROR(code, status, message, remedy) E_##code,
#include "errors.def"
#undef ERROR
	E_COUNT
};
struct error_row {
	const char *code;
	int status;
	const char *message; /* printf format */
};
extern const struct error_row errors[E_COUNT];

/*
 * Messages of messages.def, in protobuf and in JSON. A reply is written in
 * protobuf (profile/stored/wire.h), and turned into JSON for clients that want
 * that; a request of either kind is read into one form.
 *
 *   Source   protobuf.dev/programming-guides/json
 */
#pragma once

#include "base/json.h"

#include <stdbool.h>

enum message {
#define MESSAGE(name) M_##name,
#include "messages.def"
	MESSAGES
};

/* Numbers of fields: F_Point_value. */
enum {
#define FIELD(message, name, number, type, many, of) \
	F_##message##_##name = (number),
#include "messages.def"
};

/* Values of enums, by their names. */
enum {
#define VALUE(of, name, number) name = (number),
#include "messages.def"
};

/*
 * Reads a request. *out has the members that were sent and that the message
 * has, by their names in messages.def: texts, integers, reals, and lists and
 * objects of these.
 *
 *   Shape    JSON may spell a name in camel case or as in the .proto file, and
 *            an integer as a text
 *   Owns     *out is the caller's; json_decref() it
 *   Errors   -EBADMSG with a line in why, -ENOMEM; *out untouched
 */
MUST_CHECK int message_read(enum message m, bool is_json, const void *p,
                            size_t n, json_t **out, struct buf *why);
/*
 * Appends a message as JSON, as protojson writes it: integers of 64 bits as
 * texts, names in camel case, no defaults.
 *   Errors   -EBADMSG it is not well-formed; out is then cut short
 */
MUST_CHECK int
message_json(enum message m, const void *p, size_t n, struct buf *out);

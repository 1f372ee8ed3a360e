#include "tables.h"

#include <string.h>

const char *const method_names[] = {"GET", "HEAD",   "POST",
                                    "PUT", "DELETE", "OTHER"};

static const char *const who_names[] = {
	[WHO_WORKER] = "worker",
	[WHO_VIEWER] = "viewer",
	[WHO_OPERATOR] = "operator",
	[WHO_ADMIN] = "admin",
};

const struct route routes[OP_COUNT] = {
#define ROUTE(method, path, handler, who, body, op, status, others, reply, \
              summary)                                                     \
	{METHOD_##method,                                                  \
	 path,                                                             \
	 WHO_##who,                                                        \
	 (body) >= ELF ? 0 : (body),                                       \
	 (body) >= CONNECT_UPLOAD || (body) == ELF,                        \
	 (body) == ELF,                                                    \
	 (body) == RESULT,                                                 \
	 (body) == CONNECT || (body) == CONNECT_UPLOAD,                    \
	 OP_##op,                                                          \
	 #op,                                                              \
	 status,                                                           \
	 others,                                                           \
	 #reply,                                                           \
	 summary},
#include "routes.def"
#undef ROUTE
};

#define REQUIRED true
#define OPTIONAL false
const struct param_row params[P_COUNT] = {
#define PARAM(op, in, name, type, need, min, max, def, doc) \
	{OP_##op, IN_##in, #name, PT_##type, need, min, max, def, doc},
#define PARAM_AS(op, in, id, name, type, need, min, max, def, doc) \
	{OP_##op, IN_##in, name, PT_##type, need, min, max, def, doc},
#include "params.def"
#undef PARAM
#undef PARAM_AS
};

const struct schema_row schemas[] = {
#define SCHEMA(name, doc) {#name, doc},
#define FIELD(schema, name, type, of, doc)
#include "schemas.def"
#undef SCHEMA
#undef FIELD
};
const size_t nschemas = ARRAY_LEN(schemas);

const struct field_row fields[] = {
#define SCHEMA(name, doc)
#define FIELD(schema, name, type, of, doc) \
	{#schema, #name, FT_##type, #of, doc},
#include "schemas.def"
#undef SCHEMA
#undef FIELD
};
const size_t nfields = ARRAY_LEN(fields);

const struct error_row errors[E_COUNT] = {
#define ERROR(code, status, message, remedy) {#code, status, message},
#include "errors.def"
#undef ERROR
};

const char *
who_name(enum who who)
{
	return who_names[who] ? who_names[who] : "";
}

enum who
who_parse(const char *role)
{
	for (enum who w = WHO_VIEWER; w <= WHO_ADMIN; w++)
		if (!strcmp(role, who_names[w]))
			return w;
	return WHO_ANYONE;
}

bool
route_takes_key(const struct route *r)
{
	return r->method == METHOD_POST && r->op != OP_CreateToken &&
	       r->op != OP_FindProcesses && r->op != OP_JoinHost &&
	       r->who != WHO_VIEWER && r->who != WHO_WORKER;
}

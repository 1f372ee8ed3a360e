/*
 * The parts of a request that a client controls: a target, and a body that is
 * read into the parameters of its route. The first line is method and target,
 * the rest the body.
 */
#include "api/router.h"
#include "base/conf.h"
#include "endpoint/call.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
check_values(const struct call *c)
{
	for (enum param p = 0; p < P_COUNT; p++)
		if (params[p].op == c->route->op && params[p].required)
			assert(c->values[p].given);
}

static void
read_params(const struct request *r, const struct route *route,
            const char *body)
{
	struct call c = {.req = r, .route = route};
	struct reply reply;

	reply_init(&reply);
	c.reply = &reply;
	c.body = json_loads(body, JSON_REJECT_DUPLICATES, NULL);
	if (!params_read(&c))
		check_values(&c);
	else
		assert(reply.status >= 400 && reply.body.len > 0);
	json_decref(c.body);
	reply_done(&reply);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct request r = {0};
	struct route_match m;
	char *text = malloc(n + 1), *uri, *body;

	memcpy(text, data, n);
	text[n] = '\0';
	body = strchr(text, '\n');
	if (body)
		*body++ = '\0';
	uri = strchr(text, ' ');
	if (uri)
		*uri++ = '\0';
	r.method = request_method(text);
	if (uri && !request_target(&r, uri)) {
		m = route_find(&r);
		assert(!m.route || m.allowed & 1u << m.route->method);
		if (m.route)
			read_params(&r, m.route, body ? body : "");
	}
	free(text);
	return 0;
}

/* GET explanation: what profiles of a service say, as text. */
#include "explain.h"

#include <string.h>

static const struct {
	const char *word;
	unsigned sections;
} parts[] = {
	{"hottest", EXPLAIN_HOTTEST},
	{"changed", EXPLAIN_CHANGED},
	{"waits", EXPLAIN_WAITS},
	{"memory", EXPLAIN_MEMORY},
};

static unsigned
sections_of(const char *about)
{
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (!strcmp(parts[i].word, about))
			return parts[i].sections;
	return EXPLAIN_ALL;
}

int
explanation_get(struct call *c)
{
	const struct explain_ask ask = {
		.service = param_text(c, P_ExplainService_name),
		.sections = sections_of(param_text(c, P_ExplainService_about)),
		.type = param_text(c, P_ExplainService_profileType),
		.function = param_text(c, P_ExplainService_function),
		.session = "",
		.from_ms = param_int(c, P_ExplainService_from),
		.to_ms = param_int(c, P_ExplainService_to),
	};

	c->reply->status = c->route->status;
	c->reply->content_type = "text/plain; charset=utf-8";
	return explain_service(c, &ask, &c->reply->body);
}

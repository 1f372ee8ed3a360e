/* GET explanation: a text about the profiles of a service. */
#include "explain.h"

int
explanation_get(struct call *c)
{
	const struct explain_ask ask = {
		.service = param_text(c, P_ExplainService_name),
		.sections =
			explain_sections(param_text(c, P_ExplainService_about)),
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

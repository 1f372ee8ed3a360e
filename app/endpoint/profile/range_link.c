#include "range/range.h"

#include "base/clock.h"
#include "profile_json.h"

#include <errno.h>

int
range_link(struct call *c, const char *page, const struct link_query *q,
           struct buf *out)
{
	CLEANUP_BUF struct buf subject = BUF_INIT(LINK_SUBJECT_MAX);
	CLEANUP_BUF struct buf url = BUF_INIT(RANGE_MAX_LINK);
	const struct conf *conf = c->env->conf;
	struct link_page of = {
		.claim = {.kind = page, .tenant = c->caller.tenant},
	};

	link_subject(q, &subject);
	buf_addf(&url, "%s" PROFILE_PATH "%s?", conf->api_public_url, page);
	link_put_query(q, &url);
	if (buf_err(&subject) || buf_err(&url))
		return -E2BIG;
	of.claim.subject = buf_str(&subject);
	of.url = buf_str(&url);
	return link_make(&c->env->store, &c->env->links, &of, clock_wall_ms(),
	                 conf->api_link_ttl, out);
}

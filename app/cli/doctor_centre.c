/* doctor: checks that the centre of the fleet answers and knows this host. */
#include "doctor.h"

#include "base/clock.h"
#include "base/file.h"
#include "centre.h"
#include "table.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int
read_key(struct doctor *d, char **out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	int rc = doctor_read(d, d->conf.agent_key_file, &text);

	if (rc)
		return rc;
	*out = strndup(buf_str(&text), strcspn(buf_str(&text), " \t\r\n"));
	return *out ? 0 : -ENOMEM;
}

static enum verdict
no_key(struct doctor *d, int rc)
{
	found(d, "%s: %s", d->conf.agent_key_file, strerror(-rc));
	if (rc == -EACCES) {
		fix(d, "run doctor as root to look");
		return SKIPPED;
	}
	fix(d, "stoker join %s", d->conf.agent_url);
	return BROKEN;
}

/* The centre refuses windows of a host whose clock is far ahead. */
static enum verdict
judge_clock(struct doctor *d, const struct http_reply *r)
{
	int64_t ms = doctor_clock_ahead(r);
	char offset[CLOCK_OFFSET_LEN];

	if (clock_agrees(ms))
		return FINE;
	clock_format_offset(ms, offset);
	found(d, "; the clock here is %s", offset);
	fix(d, "timedatectl set-ntp true, here and there");
	return WARNING;
}

static enum verdict
judge(struct doctor *d, const struct http_reply *r)
{
	const char *url = d->conf.agent_url;

	if (r->status == 200) {
		found(d, "%s answers, and accepts the key", url);
		return judge_clock(d, r);
	}
	found(d, "%s answers with %ld: %s", url, r->status,
	      r->json ? json_member(r->json, "message") : "");
	if (r->status == 401 || r->status == 403)
		fix(d,
		    "stoker join %s, with a new key for joining, and "
		    "systemctl restart stoker-worker",
		    url);
	return r->status >= 500 || r->status == 429 ? WARNING : BROKEN;
}

/* Sends an empty poll, which changes nothing; the centre answers it only with
 * the key of a host's worker. */
enum verdict
probe_centre(struct doctor *d)
{
	CLEANUP(http_done) struct http h = {0};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_JSON json_t *nothing = json_object();
	CLEANUP_FREE char *key = NULL;
	int rc;

	if (!*d->conf.agent_url) {
		found(d, "none: this host is not part of a fleet");
		return FINE;
	}
	if (!centre_url_ok(d->conf.agent_url)) {
		found(d, "[agent] url does not begin with https://");
		fix(d, "stoker join https://HOST");
		return BROKEN;
	}
	rc = read_key(d, &key);
	if (rc)
		return no_key(d, rc);
	centre_http(&d->conf, d->conf.agent_url, &h);
	h.token = TAKE(key);
	rc = http_call(&h, "POST", "/agent/poll", nothing, &r, &why);
	if (!rc)
		return judge(d, &r);
	found(d, "%s", rc == -EHOSTUNREACH ? buf_str(&why) : strerror(-rc));
	fix(d,
	    "correct url or ca_file in [agent] of %s, or the network; "
	    "profiles are kept here meanwhile",
	    d->conf_file);
	return BROKEN;
}

/* Requests of a host to its centre, and messages when they fail. */
#include "agent_parts.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "base/log.h"
#include "worker/ipc/fetch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FIRST_MS 1000  /* the first pause after a failure; */
#define MOST_MS  60000 /* each is twice the one before, up to this */
#define SAID_MAX 200

/* Returns ms in ns, varied by up to a tenth so that hosts do not ask at the
 * same time. */
int64_t
agent_jitter_ns(int64_t ms)
{
	uint16_t by;

	random_bytes(&by, sizeof(by));
	return ms * NS_PER_MS / 10 * 9 + ms * NS_PER_MS / 5 * by / UINT16_MAX;
}

int64_t
agent_pause_ns(unsigned failures)
{
	int64_t ms = FIRST_MS;

	while (failures-- > 1 && ms < MOST_MS)
		ms *= 2;
	return agent_jitter_ns(ms < MOST_MS ? ms : MOST_MS);
}

void
agent_complain(struct agent *a, const char *why)
{
	if (strcmp(a->why, why) != 0)
		log_warn("centre: %s", why);
	snprintf(a->why, sizeof(a->why), "%s", why);
}

bool
agent_has_ended(const struct agent_held *h)
{
	return strcmp(h->status, SESSION_RUNNING) != 0;
}

json_t *
agent_read_answer(int body)
{
	CLEANUP_BUF struct buf text = BUF_INIT(AGENT_ANSWER_MAX);

	if (body < 0 || lseek(body, 0, SEEK_SET) || fd_read_all(body, &text))
		return NULL;
	return json_loadb(buf_str(&text), text.len, 0, NULL);
}

/* Reads the message of an error reply. The reply is untrusted. */
static void
read_message(int body, char out[static SAID_MAX])
{
	CLEANUP_JSON json_t *j = agent_read_answer(body);
	const char *said = json_string_value(json_object_get(j, "message"));

	snprintf(out, SAID_MAX, "%s", said ? said : "");
	for (char *p = out; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
}

void
agent_why_not(const struct fetch_answer *f, int body, char *out, size_t size)
{
	char said[SAID_MAX];

	if (f->error) {
		snprintf(out, size, "no answer: %s",
		         fetch_error_text((enum fetch_error)f->error));
		return;
	}
	read_message(body, said);
	if (f->status == 401 || f->status == 403)
		snprintf(out, size,
		         "it refuses this host's key (%u: %s); stoker join "
		         "gets another one, and what was profiled is kept "
		         "until then",
		         f->status, said);
	else
		snprintf(out, size, "it answers with %u: %s", f->status, said);
}

int
agent_ask(struct agent *a, const char *path, const char *type, uint64_t max,
          int body, uint64_t *out_id)
{
	const struct conf *conf = a->conf;
	size_t n = strlen(conf->agent_url);
	struct fetch_ask f = {
		.type = MSG_FETCH,
		.method = FETCH_POST,
		.purpose = FETCH_CENTRE,
		.connect_ms = (uint32_t)(conf->agent_timeout * MS_PER_S),
		.total_ms = (uint32_t)(conf->agent_timeout * MS_PER_S),
		.max_bytes = max,
		.id = ++a->last_fetch,
	};
	int rc;

	while (n && conf->agent_url[n - 1] == '/')
		n--;
	if ((size_t)snprintf(f.url, sizeof(f.url), "%.*s%s", (int)n,
	                     conf->agent_url, path) >= sizeof(f.url))
		return -ENAMETOOLONG;
	snprintf(f.headers, sizeof(f.headers), "Content-Type: %s\nExpect:\n",
	         type);
	rc = msg_send(a->courier, &f, sizeof(f), &body, 1);
	if (!rc)
		*out_id = f.id;
	return rc;
}

bool
agent_is_refusal(uint32_t status)
{
	return status == 400 || status == 411 || status == 413 ||
	       status == 415 || status == 422;
}

#include "lacks.h"
#include "base/ways.h"

#include "checks.h"
#include "profile/types.h"
#include "store/source.h"

#include <errno.h>
#include <string.h>

int
lacks_read(struct store *s, const char *tenant, struct lacks *out)
{
	CLEANUP_LACKS struct lacks l = {.findings = json_array()};
	int rc = worker_list(s, tenant, &l.workers);

	for (size_t i = 0; i < l.workers.n && !rc; i++) {
		json_t *of = checks_of_worker(&l.workers.items[i]);

		if (json_array_append_new(l.findings, of ? of : json_null()))
			rc = -ENOMEM;
	}
	if (rc)
		return rc;
	*out = TAKE(l);
	return 0;
}

void
lacks_done(struct lacks *l)
{
	worker_list_done(&l->workers);
	json_decref(l->findings);
}

/* Finds the finding of a worker that may serve the service and fails this
 * check; NULL: none. */
static const json_t *
poor_finding(const struct lacks *l, const struct service *s, enum check c)
{
	for (size_t i = 0; i < l->workers.n; i++) {
		const json_t *finding =
			checks_find(json_array_get(l->findings, i), c);

		if ((!*s->host || !strcmp(s->host, l->workers.items[i].host)) &&
		    checks_is_poor(finding))
			return finding;
	}
	return NULL;
}

static void
put_lack(struct buf *out, const char *type, bool certain, const char *reason,
         const char *fix)
{
	json_open(out, NULL, '{');
	json_put_text(out, "profileType", type);
	json_put_bool(out, "certain", certain);
	json_put_text(out, "reason", reason);
	json_put_text(out, "fix", fix);
	json_close(out, '}');
}

static void
put_missing(struct buf *out, const struct service *s, const char *type)
{
	CLEANUP_BUF struct buf reason = BUF_INIT(BUF_MAX_SMALL);

	buf_addf(&reason, "%s profiles of the service need %s", type,
	         source_missing(s, type));
	put_lack(out, type, true, buf_str(&reason), "");
}

static void
put_poor(const struct lacks *l, const struct service *s, const char *type,
         struct buf *out)
{
	enum check checks[SOURCE_CHECKS];
	size_t n = source_checks(s, type, checks), poor = 0;
	const json_t *first = NULL;

	for (size_t i = 0; i < n; i++) {
		const json_t *finding = poor_finding(l, s, checks[i]);

		first = first ? first : finding;
		poor += finding != NULL;
	}
	if (first)
		put_lack(out, type, poor == n, json_member(first, "found"),
		         json_member(first, "fix"));
}

void
lacks_put(const struct lacks *l, const struct service *s, struct buf *out)
{
	json_open(out, "unsupported", '[');
	for (size_t i = 0; i < profile_ntypes; i++) {
		const char *type = profile_types[i].name;

		if (!ways_exist(type))
			continue;
		if (source_of(s, type))
			put_poor(l, s, type, out);
		else
			put_missing(out, s, type);
	}
	json_close(out, ']');
}

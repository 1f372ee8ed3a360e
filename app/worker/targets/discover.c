#include "discover.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"
#include "base/rows.h"
#include "match.h"
#include "store/discovered.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TITLE_MAX (2 * CONTAINER_TEXT) /* bytes, with a NUL */

/* The match and the title of the service that a process would belong to. */
struct candidate {
	const char *kind;
	char value[TITLE_MAX + 64]; /* room for JSON around two texts */
	char title[TITLE_MAX];      /* from which its name is made */
};

static bool
is_word(const char *text, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(text, word, n);
}

int
discover_init(struct discover *d, const struct conf *conf, const char *host,
              struct buf *why)
{
	const char *p = conf->discover_auto;

	*d = (struct discover){.conf = conf, .host = host};
	random_bytes(&d->key, sizeof(d->key));
	while (*p) {
		size_t n = strcspn(p, " ");

		if (is_word(p, n, "containers"))
			d->containers = true;
		else if (is_word(p, n, "units"))
			d->units = true;
		else if (n) {
			buf_addf(why,
			         "'%.*s' in auto of [discover]: expected "
			         "containers, units, or both",
			         (int)n, p);
			return -EINVAL;
		}
		p += n + strspn(p + n, " ");
	}
	if (!discover_is_on(d) || conf_tenant(conf, conf->discover_tenant))
		return 0;
	buf_addf(why,
	         "[discover] makes services of tenant %s, which has no "
	         "[scope.%s]",
	         conf->discover_tenant, conf->discover_tenant);
	return -EINVAL;
}

void
discover_done(struct discover *d)
{
	for (uint32_t i = 0; i < d->n; i++)
		free(d->seen[i]);
	free(d->seen);
	table_done(&d->table);
	*d = (struct discover){0};
}

/* --- what a process belongs to -------------------------------------------- */

/* Makes a service's name from a title: a "-" replaces each run of characters
 * that a name may not have. Returns false if nothing is left. */
static bool
make_name(const char *title, char out[static STORE_NAME_MAX])
{
	size_t n = 0;

	for (; *title && n + 1 < STORE_NAME_MAX; title++)
		if (isalnum((unsigned char)*title) ||
		    (n && strchr("._", *title)))
			out[n++] = *title;
		else if (n && out[n - 1] != '-')
			out[n++] = '-';
	while (n && !isalnum((unsigned char)out[n - 1]))
		n--;
	out[n] = '\0';
	return n > 0;
}

/* Sets a match whose value is an object of two facts. */
static bool
set_object(struct candidate *c, const char *kind, const char *key1,
           const char *value1, const char *key2, const char *value2)
{
	CLEANUP_JSON json_t *j =
		json_pack("{ss ss}", key1, value1, key2, value2);
	CLEANUP_BUF struct buf text = BUF_INIT(sizeof(c->value) - 1);

	if (!j || json_write(j, &text) || buf_err(&text))
		return false;
	c->kind = kind;
	memcpy(c->value, buf_str(&text), text.len + 1);
	snprintf(c->title, sizeof(c->title), "%s-%s", value1, value2);
	return true;
}

/* A fact with a wildcard would match other containers, too. */
static bool
is_plain(const char *fact)
{
	return *fact && !strpbrk(fact, "*?");
}

static bool
of_container(const struct container *in, struct candidate *c)
{
	const struct container_facts *f = &in->facts;
	const char *name = container_fact(f, CONTAINER_NAME),
		   *namespace = container_fact(f, CONTAINER_NAMESPACE),
		   *project = container_fact(f, CONTAINER_PROJECT),
		   *service = container_fact(f, CONTAINER_SERVICE);

	if (!in->named || in->owner || !is_plain(name))
		return false;
	if (is_plain(namespace))
		return set_object(c, "pod", "namespace", namespace, "container",
		                  name);
	if (is_plain(project) && is_plain(service))
		return set_object(c, "compose", "project", project, "service",
		                  service);
	c->kind = "container";
	snprintf(c->value, sizeof(c->value), "%s", name);
	snprintf(c->title, sizeof(c->title), "%s", name);
	return true;
}

/* Instances of a template are one service. */
static bool
of_unit(const char *unit, struct candidate *c)
{
	static const char *const systems[] = {"systemd-", "user@", "getty@",
	                                      "serial-getty@", "stoker-"};
	static const char end[] = ".service";
	size_t n = strlen(unit), stem = strcspn(unit, "@");

	if (n < sizeof(end) || strcmp(unit + n - strlen(end), end) != 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(systems); i++)
		if (!strncmp(unit, systems[i], strlen(systems[i])))
			return false;
	if (stem == n)
		stem = n - strlen(end);
	c->kind = "unit";
	snprintf(c->value, sizeof(c->value), "%.*s%s%s", (int)stem, unit,
	         unit[stem] == '@' ? "@" : "", end);
	snprintf(c->title, sizeof(c->title), "%.*s", (int)stem, unit);
	return true;
}

static bool
candidate_of(const struct discover *d, const struct proc *p,
             struct candidate *out)
{
	if ((!*p->exe && !*p->cmdline) || match_is_own(p) ||
	    !match_scope(conf_tenant(d->conf, d->conf->discover_tenant), p))
		return false;
	if (p->container)
		return d->containers && of_container(p->container, out);
	return d->units && of_unit(p->unit, out);
}

/* --- matches that were handled -------------------------------------------- */

struct sought {
	const struct discover *d;
	const char *value;
};

static bool
is_same(const void *key, uint32_t row)
{
	const struct sought *s = key;

	return !strcmp(s->d->seen[row], s->value);
}

static uint64_t
hash_of(const struct discover *d, const char *value)
{
	return hash_keyed(d->key, value, strlen(value));
}

static bool
is_handled(const struct discover *d, const char *value)
{
	const struct sought s = {d, value};

	return table_find(&d->table, hash_of(d, value), is_same, &s) !=
	       TABLE_NONE;
}

static int
remember(struct discover *d, const char *value)
{
	int rc = ROWS_ROOM(d->seen, d->cap, d->n, 1) ?: table_room(&d->table);

	if (rc)
		return rc;
	d->seen[d->n] = strdup(value);
	if (!d->seen[d->n])
		return -ENOMEM;
	table_put(&d->table, hash_of(d, value), d->n++);
	return 0;
}

/* --- services ------------------------------------------------------------- */

static int
make(struct discover *d, struct store *s, const struct candidate *c)
{
	char name[STORE_NAME_MAX];
	struct service v = {
		.tenant = d->conf->discover_tenant,
		.name = name,
		.kind = (char *)"auto",
		.host = (char *)d->host,
		.match_kind = (char *)c->kind,
		.match_value = (char *)c->value,
		.pprof_url = (char *)"",
		.source = (char *)"auto",
		.allow = (char *)"{}",
		.labels = (char *)"{}",
		.description = (char *)"Found by [discover]",
	};
	int rc;

	if (!make_name(c->title, name))
		return 0;
	rc = discovered_add(s, &v, d->conf->discover_services);
	if (rc == 1)
		log_info("%s is a service now: %s %s", name, c->kind, c->value);
	if ((rc == -EDQUOT || rc == -EXFULL) && !d->is_full) {
		log_warn("%s is not made a service: %s", name,
		         rc == -EDQUOT ? "there are as many as services of "
		                         "[discover] allows"
		                       : "the tenant's quota of services is "
		                         "used up");
		d->is_full = true;
	}
	return rc == -EDQUOT || rc == -EXFULL ? 0 : rc;
}

static int
look_at(struct discover *d, struct store *s, const struct proc *p)
{
	struct candidate c;
	int made;

	if (d->n >= DISCOVER_MAX || !candidate_of(d, p, &c) ||
	    is_handled(d, c.value))
		return 0;
	made = make(d, s, &c);
	return made < 0 ? made : remember(d, c.value) ?: made;
}

int
discover_step(struct discover *d, struct store *s,
              const struct proc_table *procs, int64_t now_ns)
{
	int made = 0;

	for (size_t i = 0; i < procs->n; i++) {
		const struct proc *p = &procs->items[i];
		int rc;

		if (d->begun && now_ns - p->seen_ns > PROC_YOUNG_NS)
			continue;
		rc = look_at(d, s, p);
		if (rc < 0) {
			d->begun = false;
			return rc;
		}
		made += rc;
	}
	d->begun = true;
	return made;
}

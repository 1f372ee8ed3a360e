#include "subjects.h"

#include <errno.h>
#include <string.h>

#define SERVICE "service_name"
#define HOST    "host"

/* Labels of a type, and the parts of its name that they have. */
static const struct {
	const char *name;
	enum id_part part; /* ID_PARTS: all of it */
} type_labels[] = {
	{"__profile_type__", ID_PARTS}, {"__name__", ID_NAME},
	{"__type__", ID_SAMPLE},        {"__unit__", ID_UNIT},
	{"__period_type__", ID_PERIOD}, {"__period_unit__", ID_PERIOD_UNIT},
};

struct subject
subject_make(const char *service, const struct type *type, const char *host,
             const char *labels)
{
	return (struct subject){
		.service = service,
		.host = strcmp(host, WINDOW_PUSHED) ? host : "",
		.type = type,
		.labels = json_loads(labels, 0, NULL),
	};
}

bool
subject_is_host(const char *label)
{
	return !strcmp(label, HOST);
}

static bool
is_hidden(const char *label)
{
	return !strncmp(label, "__", 2);
}

const char *
subject_label(const struct subject *s, const char *name,
              char part[static ID_PART_MAX])
{
	if (!strcmp(name, SERVICE))
		return s->service;
	if (subject_is_host(name) && *s->host)
		return s->host;
	for (size_t i = 0; i < ARRAY_LEN(type_labels); i++) {
		if (strcmp(name, type_labels[i].name))
			continue;
		if (type_labels[i].part == ID_PARTS)
			return profile_id(s->type);
		profile_id_part(profile_id(s->type), type_labels[i].part, part);
		return part;
	}
	if (is_hidden(name))
		return "";
	return json_member(s->labels, name);
}

bool
subject_passes(const struct subject *s, const struct selector *by)
{
	char part[ID_PART_MAX];

	for (size_t i = 0; i < by->n; i++)
		if (!matcher_passes(&by->items[i],
		                    subject_label(s, by->items[i].name, part)))
			return false;
	return true;
}

void
subject_each_label(const struct subject *s,
                   void (*each)(void *to, const char *name), void *to)
{
	const char *name;
	json_t *v;

	each(to, SERVICE);
	if (*s->host)
		each(to, HOST);
	for (size_t i = 0; i < ARRAY_LEN(type_labels); i++)
		each(to, type_labels[i].name);
	json_object_foreach(s->labels, name, v)
		if (!is_hidden(name) && strcmp(name, SERVICE) &&
		    (!*s->host || !subject_is_host(name)))
			each(to, name);
}

void
subjects_done(struct subjects *s)
{
	for (size_t i = 0; i < s->n; i++)
		json_decref(s->items[i].labels);
	free(s->items);
	series_list_done(&s->series);
}

static bool
any_passes(const struct subject *s, const struct selector *by, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (subject_passes(s, &by[i]))
			return true;
	return !n;
}

int
subjects_find(struct store *s, const char *tenant, const struct type *type,
              const struct selector *by, size_t n, struct subjects *out)
{
	CLEANUP_SUBJECTS struct subjects made = {0};
	int rc = series_list_taken(s, tenant, type ? type->name : "",
	                           &made.series);

	if (rc)
		return rc;
	made.items = calloc(made.series.n + 1, sizeof(*made.items));
	if (!made.items)
		return -ENOMEM;
	for (size_t i = 0; i < made.series.n; i++) {
		const struct series *x = &made.series.items[i];
		struct subject one = subject_make(
			x->service, type_find(x->type), x->host, x->labels);

		if (one.type && any_passes(&one, by, n))
			made.items[made.n++] = one;
		else
			json_decref(one.labels);
	}
	*out = TAKE(made);
	return 0;
}

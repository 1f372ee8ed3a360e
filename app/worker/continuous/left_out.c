#include "left_out.h"

#include "periodic.h"
#include "watches_private.h"

#include <errno.h>
#include <string.h>

_Static_assert(WATCHES_MAX == 50 && PERIODICS_MAX == 512, "LEFT_OUT's text");

static void
one_done(struct left_one *o)
{
	free(o->tenant);
	free(o->service);
	*o = (struct left_one){0};
}

void
left_out_done(struct left_out *l)
{
	for (size_t i = 0; i < l->named; i++)
		one_done(&l->items[i]);
	free(l->items);
	*l = (struct left_out){0};
}

void
left_out_begin(struct left_out *l)
{
	for (size_t i = 0; i < l->named; i++)
		l->items[i].is_left = false;
	l->n = 0;
}

static struct left_one *
find(struct left_out *l, const char *tenant, const char *service,
     const char *type)
{
	for (size_t i = 0; i < l->named; i++) {
		struct left_one *o = &l->items[i];

		if (!strcmp(o->service, service) && !strcmp(o->type, type) &&
		    !strcmp(o->tenant, tenant))
			return o;
	}
	return NULL;
}

int
left_out_add(struct left_out *l, const char *tenant, const char *service,
             const char *type)
{
	struct left_one *o = find(l, tenant, service, type);

	l->n++;
	if (!l->items)
		l->items = calloc(LEFT_OUT_NAMED, sizeof(*l->items));
	if (!l->items)
		return -ENOMEM;
	if (!o && l->named == LEFT_OUT_NAMED)
		return 0;
	if (!o) {
		o = &l->items[l->named++];
		o->tenant = strdup(tenant);
		o->service = strdup(service);
		o->type = type;
	}
	if (!o->tenant || !o->service) {
		one_done(o);
		l->named--;
		return -ENOMEM;
	}
	o->is_left = true;
	return 0;
}

void
left_out_end(struct left_out *l, struct watches *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->named; i++) {
		struct left_one *o = &l->items[i];
		struct continuous_problem p = {.tenant = o->tenant,
		                               .service = o->service,
		                               .type = (char *)o->type};

		watches_report(w, &p, &o->reported,
		               o->is_left ? CAPTURE_LEFT_OUT : CAPTURE_OK);
		if (o->is_left)
			l->items[kept++] = *o;
		else
			one_done(o);
	}
	l->named = kept;
}

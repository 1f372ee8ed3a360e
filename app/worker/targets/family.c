#include "family.h"

#include <errno.h>
#include <string.h>

void
family_done(struct family *f)
{
	free(f->first);
	free(f->next);
	free(f->waiting);
	free(f->met);
	*f = (struct family){0};
}

/* Finds the parent. If the parent has ended, its pid may belong to a process
 * that started later than the child. */
static const struct proc *
parent_of(const struct proc_table *procs, const struct proc *p)
{
	const struct proc *parent = proc_table_find(procs, p->parent);

	return parent && parent->start_time <= p->start_time ? parent : NULL;
}

static void
link_all(struct family *f)
{
	const struct proc *items = f->procs->items;

	for (size_t i = 0; i < f->procs->n; i++) {
		const struct proc *parent = parent_of(f->procs, &items[i]);

		if (!parent || parent == &items[i])
			continue;
		f->next[i] = f->first[parent - items];
		f->first[parent - items] = (uint32_t)i + 1;
	}
}

int
family_init(const struct proc_table *procs, struct family *out)
{
	size_t n = procs->n + 1;
	struct family f = {
		.procs = procs,
		.first = calloc(n, sizeof(*f.first)),
		.next = calloc(n, sizeof(*f.next)),
		.waiting = calloc(n, sizeof(*f.waiting)),
		.met = calloc(n, sizeof(*f.met)),
	};

	if (!f.first || !f.next || !f.waiting || !f.met) {
		family_done(&f);
		return -ENOMEM;
	}
	link_all(&f);
	*out = f;
	return 0;
}

void
family_clear(struct family *f)
{
	memset(f->met, 0, f->procs->n * sizeof(*f->met));
}

/* Puts the children of a row on the stack, the one with the lowest pid on
 * top. */
static size_t
put_aside(struct family *f, size_t at, size_t n)
{
	for (uint32_t child = f->first[at]; child; child = f->next[child - 1]) {
		if (f->met[child - 1])
			continue;
		f->met[child - 1] = true;
		f->waiting[n++] = child - 1;
	}
	return n;
}

void
family_walk(struct family *f, size_t at, family_seen *seen, void *arg)
{
	size_t n;

	f->met[at] = true;
	n = put_aside(f, at, 0);
	while (n) {
		uint32_t row = f->waiting[--n];

		if (seen(arg, &f->procs->items[row]))
			n = put_aside(f, row, n);
	}
}

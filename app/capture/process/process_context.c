#include "process_context.h"

#include "base/clock.h"
#include "capture/contexts/published.h"
#include "capture/contexts/thread_tls.h"

#include <string.h>

#define LOOK_NS ((uint64_t)NS_PER_S) /* between looks at what it publishes */

struct context_process {
	const struct thread_tls *tls; /* NULL: in none of its files */
	const struct query_at *query; /* NULL: not a PostgreSQL server */
	char id[QUERY_TEXT];          /* of its query */
	uint64_t bias;
	bool musl;
	struct published at;
	struct thread_keys keys;
	struct context_at where; /* pid 0: not known yet */
	uint64_t looked_ns;      /* 0: never */
};

void
process_forget_context(struct process *proc)
{
	free(proc->context);
	proc->context = NULL;
	proc->context_looked = false;
}

/* Returns the mapping of a file with a variable that leads to contexts; the
 * program takes precedence over libraries. */
static const struct map *
find_file(const struct process *proc, bool *musl)
{
	const struct map *found = NULL;

	for (uint32_t i = 0; i < proc->maps.n; i++) {
		const struct map *row = &proc->maps.rows[i];
		const struct module *m = proc->modules->rows[row->module];

		*musl |= strstr(m->path, "/ld-musl-") != NULL;
		if ((m->tls || m->query) && (!found || m->elf->is_program))
			found = row;
	}
	return found;
}

static struct context_process *
context_of(struct process *proc)
{
	const struct map *file;
	bool musl = false;

	if (proc->context_looked)
		return proc->context;
	proc->context_looked = true;
	file = find_file(proc, &musl);
	if (!file)
		return NULL;
	proc->context = calloc(1, sizeof(*proc->context));
	if (!proc->context)
		return NULL;
	proc->context->tls = proc->modules->rows[file->module]->tls;
	proc->context->query = proc->modules->rows[file->module]->query;
	proc->context->bias = file->bias;
	proc->context->musl = musl;
	return proc->context;
}

/* Reads the names of attributes again if they changed. */
static void
read_keys(struct context_process *c, const struct memory *m)
{
	CLEANUP_BUF struct buf text = BUF_INIT(PUBLISHED_MAX_BYTES);

	if (published_read(m, &c->at, &text) > 0 &&
	    thread_keys_parse(text.p, text.len, &c->keys))
		c->keys.used = false;
}

/* True if it is time for the next look. */
static bool
may_look(const struct process *proc, struct context_process *c)
{
	uint64_t now = (uint64_t)clock_mono_ns();

	if (proc->unreadable || (c->looked_ns && now - c->looked_ns < LOOK_NS))
		return false;
	c->looked_ns = now;
	return true;
}

static struct memory
memory_of(const struct process *proc)
{
	return (struct memory){.host = proc->modules->host,
	                       .pid = (int32_t)proc->pid};
}

/* Finds where the threads of a process have their contexts; false if they have
 * none, or none yet. */
static bool
find_where(struct context_process *c, const struct memory *m)
{
	if (!c->tls) {
		query_resolve(c->query, c->bias, &c->where);
		return true;
	}
	read_keys(c, m);
	return c->keys.used &&
	       !thread_tls_resolve(m, c->tls, c->bias, c->musl, &c->where);
}

void
process_context_follow(struct process *proc, struct sampler *s)
{
	struct context_process *c = context_of(proc);
	const struct memory m = memory_of(proc);

	if (!c || c->where.pid || !sampler_follows_interp(s) ||
	    !may_look(proc, c) || !find_where(c, &m))
		return;
	c->where.pid = proc->pid;
	(void)sampler_context(s, &c->where);
}

static bool
query_context(struct context_process *c, const struct record *r,
              struct thread_context *out)
{
	if (!query_parse(c->query, r->sample.context, r->sample.context_len,
	                 c->id))
		return false;
	*out = (struct thread_context){
		.n = 1, .attributes = {{QUERY_LABEL, c->id, strlen(c->id)}}};
	return true;
}

bool
process_context(struct process *proc, const struct record *r,
                struct thread_context *out)
{
	struct context_process *c = r->sample.context_len ? context_of(proc)
	                                                  : NULL;
	const struct memory m = memory_of(proc);
	int rc;

	if (!c)
		return false;
	if (!c->tls)
		return query_context(c, r, out);
	rc = thread_context_parse(r->sample.context, r->sample.context_len,
	                          &c->keys, out);
	if (!rc && out->unknown && may_look(proc, c)) {
		read_keys(c, &m);
		rc = thread_context_parse(r->sample.context,
		                          r->sample.context_len, &c->keys, out);
	}
	return !rc;
}

void
process_context_fork(struct process *child, const struct process *parent,
                     struct sampler *s)
{
	const struct context_process *of = parent->context;

	if (!of || !of->where.pid)
		return;
	child->context = malloc(sizeof(*child->context));
	if (!child->context)
		return;
	*child->context = *of;
	child->context->where.pid = child->pid;
	child->context_looked = true;
	(void)sampler_context(s, &child->context->where);
}

#include "explain.h"

#include "failure.h"
#include "quote.h"
#include "store/service.h"
#include "story.h"

#include <string.h>

#define ROWS_MANY 8 /* functions of the type that was asked for */
#define ROWS_FEW  3
#define PART_MAX  ((size_t)64 << 10)
#define LINK_MAX  ((size_t)4 << 10)
/* The end of a text. */
#define UNKNOWN_MAX   ((size_t)2 << 10)
#define UNKNOWN_TITLE "\nNot known:\n"
#define LINK_TITLE    "\nFlame graph: "
#define CUT           "(more was left out: ask for one section, type or function)\n"

static void
story_done(struct story *s)
{
	buf_done(&s->found);
	buf_done(&s->details);
	buf_done(&s->unknown);
	buf_done(&s->missing);
	buf_done(&s->link);
}

/* --- sections ------------------------------------------------------------- */

static const struct {
	const char *word;
	unsigned sections;
} words[] = {
	{"hottest", EXPLAIN_HOTTEST},
	{"changed", EXPLAIN_CHANGED},
	{"waits", EXPLAIN_WAITS},
	{"memory", EXPLAIN_MEMORY},
};

unsigned
explain_sections(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strcmp(words[i].word, word))
			return words[i].sections;
	return EXPLAIN_ALL;
}

/* A section about profiles of one type. */
struct section {
	enum explain_section when; /* the section that was asked for */
	const char *type;          /* NULL: the type asked for */
	size_t rows;
	bool changed; /* the section also shows what changed */
};

static const struct section sections[] = {
	{EXPLAIN_HOTTEST, NULL, ROWS_MANY, false},
	{EXPLAIN_CHANGED, NULL, 0, true},
	{EXPLAIN_WAITS, "goroutine", 0, false},
	{EXPLAIN_WAITS, "mutex", ROWS_FEW, false},
	{EXPLAIN_WAITS, "block", ROWS_FEW, false},
	{EXPLAIN_WAITS, "io", ROWS_FEW, false},
	{EXPLAIN_MEMORY, "memory", ROWS_FEW, true},
};

static const char *
type_of(const struct story *s, const struct section *x)
{
	return x->type ? x->type : *s->ask->type ? s->ask->type : "cpu";
}

static void
put_missing(struct story *s)
{
	const int64_t from = s->ask->from_ms;

	if (!s->missing.len)
		return;
	buf_puts(&s->unknown, "- Not captured");
	if (from) {
		buf_puts(&s->unknown, " from ");
		material_time(from, &s->unknown);
		buf_puts(&s->unknown, " to ");
		material_time(s->ask->to_ms, &s->unknown);
	}
	buf_addf(&s->unknown, ", or no longer kept: profiles of type %s.\n",
	         buf_str(&s->missing));
}

static int
write_section(struct story *s, const struct section *x,
              const struct material *m)
{
	int rc = 0;

	if (!strcmp(m->type, "goroutine") && x->type)
		rc = story_goroutines(s, m);
	else if (x->rows)
		rc = story_hottest(s, m, x->rows);
	if (!rc && x->changed)
		rc = story_changed(s, m);
	if (rc || s->link.len)
		return rc;
	rc = material_link(s->c, m, &s->link);
	return rc ? fail_store(s->c, rc) : 0;
}

static struct material
material_of(const struct story *s, const char *type)
{
	return (struct material){
		.type = type,
		.range = {.store = &s->c->env->store,
	                  .tenant = s->c->caller.tenant,
	                  .service = s->ask->service,
	                  .host = "",
	                  .origin = "auto",
	                  .from_ms = s->ask->from_ms,
	                  .to_ms = s->ask->to_ms,
	                  .end_ns = s->c->end_ns,
	                  .peer = &s->c->req->peer_fd},
	};
}

/* Writes the sections of one type, whose profiles are read once. */
static int
write_type(struct story *s, const char *type)
{
	CLEANUP_MATERIAL struct material m = material_of(s, type);
	int rc = material_read(s->c, s->ask->session, &m);

	if (!rc && !m.profile)
		buf_addf(&s->missing, "%s%s", s->missing.len ? ", " : "", type);
	if (!rc)
		story_put_lost(s, &m.range);
	for (size_t i = 0; !rc && m.profile && i < ARRAY_LEN(sections); i++)
		if (s->ask->sections & sections[i].when &&
		    !strcmp(type_of(s, &sections[i]), type))
			rc = write_section(s, &sections[i], &m);
	return rc;
}

/* Notes why the profiles of a type could not be read, if other types are
 * wanted, too. */
static int
note_failure(struct story *s, const char *type)
{
	CLEANUP_BUF struct buf why = BUF_INIT(PART_MAX);

	if (!(s->ask->sections & (s->ask->sections - 1)) ||
	    !failure_take(s->c, &why))
		return -1;
	buf_addf(&s->unknown, "- Its %s: ", story_cost(type));
	quote_name(&s->unknown, buf_str(&why));
	buf_putc(&s->unknown, '\n');
	return 0;
}

static int
write_all(struct story *s)
{
	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		const char *type = type_of(s, &sections[i]);
		bool done = false;

		for (size_t k = 0; k < i; k++)
			done |= s->ask->sections & sections[k].when &&
			        !strcmp(type_of(s, &sections[k]), type);
		if (!done && s->ask->sections & sections[i].when &&
		    write_type(s, type) && note_failure(s, type))
			return -1;
	}
	return 0;
}

/* --- the text ------------------------------------------------------------- */

/* Appends lines of a text up to a number of bytes. Returns false if some were
 * left out. */
static bool
put_lines(struct buf *out, const struct buf *text, size_t room)
{
	size_t n = text->len;

	if (n > room)
		for (n = room; n && text->p[n - 1] != '\n';)
			n--;
	buf_add(out, text->p, n);
	return n == text->len;
}

/* Returns by how many bytes a text may still grow, up to `all`. */
static size_t
room_of(const struct buf *out, size_t all)
{
	return all > out->len ? all - out->len : 0;
}

static void
put_text(const struct story *s, struct buf *out)
{
	size_t link = s->link.len + sizeof(LINK_TITLE);
	size_t end = link < EXPLAIN_MAX ? EXPLAIN_MAX - link : 0;
	size_t unknown = s->unknown.len < UNKNOWN_MAX ? s->unknown.len
	                                              : UNKNOWN_MAX;
	size_t kept = unknown + sizeof(CUT) + sizeof(UNKNOWN_TITLE);
	size_t room = end > kept ? end - kept : 0;
	bool whole;

	buf_addf(out, "%s, as Stoker's profiles show it:\n", s->ask->service);
	whole = put_lines(out, &s->found, room_of(out, room));
	if (!s->found.len)
		buf_puts(out, "- Nothing is known.\n");
	whole &= put_lines(out, &s->details, room_of(out, room));
	buf_puts(out, whole ? "" : CUT);
	buf_puts(out, s->unknown.len ? UNKNOWN_TITLE : "");
	(void)put_lines(out, &s->unknown, room_of(out, end));
	if (s->link.len && end)
		buf_addf(out, LINK_TITLE "%s\n", buf_str(&s->link));
}

int
explain_service(struct call *c, const struct explain_ask *ask, struct buf *out)
{
	CLEANUP(story_done)
	struct story s = {
		.c = c,
		.ask = ask,
		.found = BUF_INIT(PART_MAX),
		.details = BUF_INIT(PART_MAX),
		.unknown = BUF_INIT(PART_MAX),
		.missing = BUF_INIT(PART_MAX),
		.link = BUF_INIT(LINK_MAX),
	};
	int rc;

	if (call_service(c, ask->service, NULL) || write_all(&s))
		return -1;
	put_missing(&s);
	rc = buf_err(&s.found)
	             ?: buf_err(&s.details)
	             ?: buf_err(&s.unknown) ?: buf_err(&s.link);
	if (rc)
		return fail_store(c, rc);
	put_text(&s, out);
	return 0;
}

/* --- services ------------------------------------------------------------- */

static void
put_service(const struct service *s, const struct service_state_list *states,
            struct buf *out)
{
	const struct service_state *x = NULL;

	for (size_t i = 0; i < states->n; i++)
		if (!strcmp(states->items[i].service, s->name))
			x = &states->items[i];
	buf_addf(out, "- %s: ", s->name);
	if (x)
		buf_addf(out, "%lld processes on %lld hosts",
		         (long long)x->processes, (long long)x->hosts);
	if (x && *x->session) {
		buf_addf(out, "; last capture %s (%s, %s) at ", x->session,
		         x->type, x->status);
		material_time(x->started_ms, out);
	} else {
		buf_puts(out, "; never captured on request");
	}
	if (*s->description) {
		buf_puts(out, "; ");
		quote_name(out, s->description);
	}
	buf_putc(out, '\n');
}

int
explain_services(struct call *c, struct buf *out)
{
	CLEANUP_SERVICES struct service_list list = {0};
	CLEANUP(service_state_list_done) struct service_state_list states = {0};
	CLEANUP_BUF struct buf rows = BUF_INIT(PART_MAX);
	struct store *store = &c->env->store;
	const char *tenant = c->caller.tenant;
	int rc = service_list(store, tenant, (struct page){STORE_PAGE_MAX, ""},
	                      &list);

	if (!rc && list.n)
		rc = service_states(store, tenant, list.items[0].name,
		                    list.items[list.n - 1].name, &states);
	for (size_t i = 0; i < list.n && !rc; i++)
		put_service(&list.items[i], &states, &rows);
	rc = rc ?: buf_err(&rows);
	if (rc)
		return fail_store(c, rc);
	if (!list.n)
		buf_puts(out, "No service is registered yet: an administrator "
		              "adds one with stoker service add.\n");
	else
		buf_addf(out, "%zu service%s:\n", list.n,
		         list.n == 1 ? "" : "s");
	if (!put_lines(out, &rows, EXPLAIN_MAX - 2 * sizeof(CUT)) || list.next)
		buf_puts(out, "(more services were left out)\n");
	return 0;
}

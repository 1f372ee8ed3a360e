#include "wait_names.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/rows.h"
#include "base/table.h"
#include "base/utf8.h"

#include <arpa/inet.h>
#include <string.h>

#define TEXT_MAX 128
/* Upper bound for texts that name no file or peer; each system call has one per
 * kind of file. */
#define PLAIN_MAX 4096

/* A text's place is its hash, so that captures agree on it. */
struct wait_names {
	struct table table;
	struct name {
		uint64_t hash;
		char *text;
	} rows[WAIT_NAMES_MAX + PLAIN_MAX];
	uint32_t n;
	struct table lock_table;
	struct lock {
		uint64_t address;
		struct place at; /* MODULE_UNKNOWN: none, or several */
	} locks[WAIT_LOCKS_MAX];
	uint32_t nlocks;
};

struct wait_names *
wait_names_new(void)
{
	return calloc(1, sizeof(struct wait_names));
}

void
wait_names_free(struct wait_names *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i < w->n; i++)
		free(w->rows[i].text);
	table_done(&w->table);
	table_done(&w->lock_table);
	free(w);
}

struct key {
	const struct wait_names *names;
	uint64_t hash;
};

static bool
is_same(const void *key, uint32_t row)
{
	const struct key *k = key;

	return k->names->rows[row].hash == k->hash;
}

static uint32_t
find(const struct wait_names *w, uint64_t hash)
{
	const struct key key = {w, hash};

	return table_find(&w->table, hash, is_same, &key);
}

/* Keeps a text; false when there is no room. */
static bool
keep(struct wait_names *w, const char *text, uint32_t max, uint64_t *hash)
{
	struct name row = {.hash = hash_bytes(text, strlen(text))};

	*hash = row.hash;
	if (find(w, row.hash) != TABLE_NONE)
		return true;
	if (w->n >= max || table_room(&w->table))
		return false;
	row.text = strdup(text);
	if (!row.text)
		return false;
	w->rows[w->n] = row;
	table_put(&w->table, row.hash, w->n++);
	return true;
}

bool
wait_keep(struct wait_names *w, const char *text, uint64_t *vaddr)
{
	return keep(w, text, WAIT_NAMES_MAX, vaddr);
}

const char *
wait_name_of(const struct wait_names *w, uint64_t vaddr)
{
	uint32_t row = find(w, vaddr);

	return row == TABLE_NONE ? "" : w->rows[row].text;
}

/* --- locks ---------------------------------------------------------------- */

static bool
is_lock(const void *key, uint32_t row)
{
	const struct key *k = key;

	return k->names->locks[row].address == k->hash;
}

static uint32_t
find_lock(const struct wait_names *w, uint64_t address)
{
	const struct key key = {w, address};

	return table_find(&w->lock_table, hash_u64(address), is_lock, &key);
}

/* True if vaddr lies in data that the file's program may write. */
static bool
has_data(const struct elf_image *e, uint64_t vaddr)
{
	for (uint32_t i = 0; i < e->nsegments; i++) {
		const struct elf_segment *s = &e->segments[i];

		if (s->type == PT_LOAD && s->flags & PF_W &&
		    vaddr >= s->vaddr && vaddr - s->vaddr < s->memsz)
			return true;
	}
	return false;
}

/* Finds the file of the nearest code below an address, if the address is in its
 * data: the segments of a file are mapped in order, without another file
 * between them. Source: gABI 5, Base Address. */
static struct place
data_at(const struct process *proc, uint64_t address)
{
	const struct place none = {.module = MODULE_UNKNOWN};
	const struct maps *maps = &proc->maps;
	uint32_t low = ROWS_WHILE(maps->n, i, maps->rows[i].start <= address);
	const struct module *m;

	if (!low || maps->rows[low - 1].module < MODULE_FIRST)
		return none;
	m = proc->modules->rows[maps->rows[low - 1].module];
	address -= maps->rows[low - 1].bias;
	if (!m || !m->elf || m->from_memory || !has_data(m->elf, address))
		return none;
	return (struct place){maps->rows[low - 1].module, address};
}

static void
keep_lock(struct wait_names *w, const struct process *proc, uint64_t address)
{
	uint32_t row = find_lock(w, address);
	struct place at = data_at(proc, address);

	if (row != TABLE_NONE) {
		if (w->locks[row].at.module != at.module ||
		    w->locks[row].at.vaddr != at.vaddr)
			w->locks[row].at.module = MODULE_UNKNOWN;
		return;
	}
	if (at.module == MODULE_UNKNOWN || w->nlocks == WAIT_LOCKS_MAX ||
	    table_room(&w->lock_table))
		return;
	w->locks[w->nlocks] = (struct lock){address, at};
	table_put(&w->lock_table, hash_u64(address), w->nlocks++);
}

bool
wait_lock_place(const struct wait_names *w, uint64_t address, struct place *out)
{
	uint32_t row = find_lock(w, address);

	if (row == TABLE_NONE || w->locks[row].at.module == MODULE_UNKNOWN)
		return false;
	*out = w->locks[row].at;
	return true;
}

void
wait_locks_sweep(struct wait_names *w, const bool *in_use)
{
	for (uint32_t i = 0; i < w->nlocks; i++)
		if (!in_use[w->locks[i].at.module])
			w->locks[i].at.module = MODULE_UNKNOWN;
}

/* --- texts ---------------------------------------------------------------- */

static const char *const files[] = {
	[EMIT_NO_FILE] = "",
	[EMIT_REGULAR] = " file",
	[EMIT_DIRECTORY] = " directory",
	[EMIT_DEVICE] = " device",
	[EMIT_PIPE] = " pipe",
	[EMIT_SOCKET] = " socket",
	[EMIT_OTHER_FILE] = "",
};

static void
add_peer(const struct emit_event *e, struct buf *out)
{
	char text[INET6_ADDRSTRLEN];
	bool six = e->family == AF_INET6;

	if (!e->port || !inet_ntop(e->family, e->peer, text, sizeof(text)))
		return;
	buf_addf(out, six ? " [%s]:%u" : " %s:%u", text,
	         (unsigned)ntohs(e->port));
}

/* Adds the name of a file or thread, which may contain any bytes, and may be
 * cut in the middle of a character. */
static void
add_name(const char *text, struct buf *out)
{
	const unsigned char *name = (const void *)text;
	size_t n = strlen(text);

	if (!n)
		return;
	buf_putc(out, ' ');
	for (size_t i = 0, len; i < n; i += len) {
		len = utf8_len(name + i, n - i);
		if (len && name[i] >= ' ' && name[i] != 0x7f) {
			buf_add(out, name + i, len);
			continue;
		}
		buf_putc(out, '?');
		len = 1;
	}
}

/* Writes what a thread waited for, "[recvfrom socket 10.0.0.3:5432]". */
static void
describe(const struct emit_event *e, bool whole, struct buf *out)
{
	const char *call = e->call < 0 ? "page fault"
	                               : wait_call(e->call)->name;

	buf_addf(out, "[%s", *call ? call : "wait");
	if (e->file < ARRAY_LEN(files))
		buf_puts(out, files[e->file]);
	if (whole && e->family)
		add_peer(e, out);
	if (whole)
		add_name(e->name, out);
	buf_putc(out, ']');
}

/* Finds the place for the object that a thread waited for; false if none. */
static bool
place_of(struct wait_names *w, const struct emit_event *e, struct place *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(TEXT_MAX);

	out->module = e->class == EMIT_LOCK ? MODULE_LOCK : MODULE_WAIT;
	out->vaddr = e->address;
	if (e->class == EMIT_LOCK)
		return true;
	describe(e, true, &text);
	if (!buf_err(&text) &&
	    keep(w, buf_str(&text), WAIT_NAMES_MAX, &out->vaddr))
		return true;
	buf_clear(&text);
	describe(e, false, &text);
	return !buf_err(&text) &&
	       keep(w, buf_str(&text), ARRAY_LEN(w->rows), &out->vaddr);
}

/* Adds a frame as the innermost of a stack. */
static void
lead(struct proc_stack *stack, struct place place)
{
	if (stack->n == PROCS_MAX_STACK)
		stack->n--;
	memmove(stack->places + 1, stack->places,
	        stack->n * sizeof(*stack->places));
	stack->places[0] = place;
	stack->n++;
}

void
wait_put(struct wait_names *w, const char *text, struct proc_stack *stack)
{
	struct place place = {.module = MODULE_WAIT};

	if (keep(w, text, ARRAY_LEN(w->rows), &place.vaddr))
		lead(stack, place);
}

void
wait_lead(struct wait_names *w, const struct emit_event *e,
          const struct process *proc, const char *holder,
          struct proc_stack *stack)
{
	CLEANUP_BUF struct buf text = BUF_INIT(TEXT_MAX);
	struct place place;

	if (!place_of(w, e, &place))
		return;
	if (place.module == MODULE_LOCK)
		keep_lock(w, proc, place.vaddr);
	lead(stack, place);
	if (!holder)
		return;
	buf_puts(&text, "[held by");
	add_name(holder, &text);
	buf_putc(&text, ']');
	place.module = MODULE_WAIT;
	if (!buf_err(&text) &&
	    keep(w, buf_str(&text), WAIT_NAMES_MAX, &place.vaddr))
		lead(stack, place);
}

#include "process_code.h"

#include "base/clock.h"
#include "capture/elf/elf_object.h"
#include "capture/unwind/unwind_arch.h"

#include <errno.h>
#include <string.h>

#define DESCRIPTOR      "__jit_debug_descriptor"
#define MAX_DESCRIPTORS 4
#define MAX_OBJECT      ((uint64_t)4 << 20)  /* bytes of an object file */
#define NEW_NS          UINT64_C(50000000)   /* between looks for new code, */
#define OLD_NS          UINT64_C(250000000)  /* and at what may be outdated */
#define PART            ((uint64_t)64 << 10) /* bytes of a copy's part */
#define MAX_PARTS       16
#define AGE_NS          UINT64_C(1000000000) /* of copies */

/* Source: GDB manual, "Using the Interface" */
struct descriptor {
	uint32_t version, action;
	uint64_t relevant, first; /* addresses of rows */
};
struct row {
	uint64_t next, before, file, size;
};

struct object {
	uint64_t at; /* address of its row, */
	struct row row;
	uint32_t module; /* 0: it can't be read, or its place was taken */
	size_t bytes;
	bool seen; /* in this look */
};

struct code_process {
	struct memory memory;
	struct memory_spare spare;
	uint64_t now_ns;
	/* Addresses of descriptors, and what they were at the last look. */
	uint64_t descriptors[MAX_DESCRIPTORS];
	struct descriptor last[MAX_DESCRIPTORS];
	unsigned ndescriptors;
	uint64_t looked_ns; /* 0: never */
	int64_t counted_ns; /* CPU time, up to which a look was counted */
	bool due;           /* lists are to be read, though descriptors may be
	                       as they were */
	struct object objects[CODE_MAX_OBJECTS];
	size_t nobjects, bytes;
	/* Each segment is a part; one that could not be read is empty. */
	struct elf_image *copy;     /* NULL: none yet */
	struct unwind_table *table; /* of copy */
	uint64_t copied_ns;         /* the oldest part */
};

void
process_forget_code(struct process *proc)
{
	struct code_process *c = proc->code;

	if (!c)
		return;
	unwind_table_free(c->table);
	elf_free(c->copy);
	memory_spare_done(&c->spare);
	free(c);
	proc->code = NULL;
}

static struct code_process *
code_of(struct process *proc)
{
	struct code_process *c = proc->code;

	if (c || proc->unreadable)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->memory = (struct memory){.host = proc->modules->host,
	                            .pid = (int32_t)proc->pid,
	                            .spare = &c->spare};
	c->now_ns = (uint64_t)clock_mono_ns();
	proc->code = c;
	return c;
}

/* --- described code ------------------------------------------------------- */

/* Counts the time that a look takes; false if it has taken too long. */
static bool
may_go_on(const struct process *proc, struct code_process *c)
{
	const int64_t before_ns = c->counted_ns;

	c->counted_ns = clock_cpu_ns();
	return modules_spend(proc->modules, (int32_t)proc->pid,
	                     c->counted_ns - before_ns);
}

/* Finds the variable of the interface in each file; true if there are others
 * than before. Libraries of one program share one, but a plugin may have
 * another, and be loaded later. */
static bool
search(const struct process *proc, struct code_process *c)
{
	uint64_t found[MAX_DESCRIPTORS] = {0};
	unsigned n = 0;

	for (uint32_t i = 0; i < proc->maps.n; i++) {
		const struct map *map = &proc->maps.rows[i];
		uint64_t vaddr = modules_symbol(proc->modules,
		                                (int32_t)proc->pid, map->module,
		                                DESCRIPTOR);
		bool known = !vaddr;

		for (unsigned k = 0; k < n; k++)
			known |= found[k] == vaddr + map->bias;
		if (!known && n < MAX_DESCRIPTORS)
			found[n++] = vaddr + map->bias;
	}
	if (!memcmp(found, c->descriptors, sizeof(found)))
		return false;
	memcpy(c->descriptors, found, sizeof(found));
	memset(c->last, 0, sizeof(c->last));
	c->ndescriptors = n;
	return true;
}

/* Reads code from the process's memory. */
static int
read_code(void *arg, uint64_t addr, void *out, size_t n)
{
	const struct code_process *c = arg;

	return memory_copy(&c->memory, addr, out, n);
}

/* True if all of the code lies in memory of the process's own. */
static bool
is_of_memory(const struct process *proc, const struct elf_image *elf)
{
	const struct elf_segment *s;

	for (uint32_t i = 0; (s = elf_segment(elf, PT_LOAD, i)); i++) {
		const struct map *m = maps_find(&proc->maps, s->vaddr);
		const struct module *of = m ? proc->modules->rows[m->module]
		                            : NULL;

		if (s->flags & PF_X && (!m || m->end - s->vaddr < s->memsz ||
		                        !(of->pid || of->described)))
			return false;
	}
	return true;
}

static void
map_object(struct process *proc, const struct elf_image *elf, uint32_t module)
{
	const struct elf_segment *s;

	for (uint32_t i = 0; (s = elf_segment(elf, PT_LOAD, i)); i++) {
		const struct map row = {.start = s->vaddr,
		                        .end = s->vaddr + s->memsz,
		                        .module = module};

		if (s->flags & PF_X)
			(void)!maps_add(&proc->maps, &row);
	}
}

static int
open_object(const struct process *proc, struct code_process *c,
            const struct row *row, struct elf_image **out)
{
	const size_t left = CODE_MAX_BYTES - c->bytes;
	CLEANUP_FREE void *bytes = NULL;
	CLEANUP_ELF struct elf_image *elf = NULL;
	int rc;

	if (row->size > MAX_OBJECT || row->size > left)
		return -E2BIG;
	bytes = malloc(row->size + 1);
	if (!bytes)
		return -ENOMEM;
	rc = memory_copy(&c->memory, row->file, bytes, row->size);
	if (!rc)
		rc = elf_open_object(bytes, row->size, read_code, c, &elf);
	if (rc)
		return rc;
	if (elf->size > left) /* with its code */
		return -E2BIG;
	if (!is_of_memory(proc, elf))
		return -EINVAL;
	*out = TAKE(elf);
	return 0;
}

/* Maps the code of a new row. One that can't be read is kept as such. */
static void
add_object(struct process *proc, struct code_process *c, uint64_t at,
           const struct row *row)
{
	struct object *o = &c->objects[c->nobjects++];
	struct elf_image *elf;
	uint32_t module;

	*o = (struct object){.at = at, .row = *row, .seen = true};
	if (open_object(proc, c, row, &elf))
		return;
	if (modules_describe(proc->modules, (int32_t)proc->pid, elf, &module)) {
		elf_free(elf);
		return;
	}
	for (size_t i = 0; i + 1 < c->nobjects; i++)
		if (c->objects[i].module == module) /* it was not in use */
			c->objects[i].module = 0;
	o->module = module;
	o->bytes = elf->size;
	c->bytes += o->bytes;
	map_object(proc, elf, module);
}

/* Turns a mapping of described code back into one of memory. */
static void
forget_place(struct process *proc, const struct map *was)
{
	const int32_t pid = (int32_t)proc->pid;
	const struct map_seen seen = {.start = was->start,
	                              .end = was->end,
	                              .path = "",
	                              .executable = true};
	struct map row;

	if (!modules_resolve(proc->modules, &pid, 1, &seen, &row))
		(void)!maps_add(&proc->maps, &row);
}

/* False if other code took the whole place of an object, and a file has its
 * module's row by now. For other code, add_object() sees to it. */
static bool
has_module(const struct process *proc, const struct object *o)
{
	const struct module *m = o->module ? proc->modules->rows[o->module]
	                                   : NULL;

	return m && m->described && m->opened_by == (int32_t)proc->pid;
}

static void
drop_object(struct process *proc, struct code_process *c, size_t i)
{
	const struct object was = c->objects[i];
	const bool mapped = has_module(proc, &was);

	c->objects[i] = c->objects[--c->nobjects];
	c->bytes -= was.bytes;
	for (uint32_t k = 0; mapped && k < proc->maps.n; k++)
		if (proc->maps.rows[k].module == was.module)
			forget_place(proc, &proc->maps.rows[k]);
}

static struct object *
find_object(struct code_process *c, uint64_t at, const struct row *row)
{
	for (size_t i = 0; i < c->nobjects; i++)
		if (c->objects[i].at == at &&
		    c->objects[i].row.file == row->file &&
		    c->objects[i].row.size == row->size)
			return &c->objects[i];
	return NULL;
}

/* Goes through the list of a descriptor; true if something was added. */
static bool
read_list(struct process *proc, struct code_process *c, uint64_t first)
{
	bool added = false;
	struct row row;

	for (unsigned i = 0; first && i < CODE_MAX_OBJECTS; i++) {
		struct object *known;

		if (memory_copy(&c->memory, first, &row, sizeof(row)))
			break;
		known = find_object(c, first, &row);
		if (known) {
			known->seen = true;
		} else if (!may_go_on(proc, c)) {
			c->due = true;
		} else if (c->nobjects < CODE_MAX_OBJECTS) {
			add_object(proc, c, first, &row);
			added = true;
		}
		first = row.next;
	}
	return added;
}

/* Reads the descriptors; false if they are as they were. */
static bool
read_descriptors(struct code_process *c)
{
	bool changed = false;

	for (unsigned i = 0; i < c->ndescriptors; i++) {
		struct descriptor d;

		if (memory_copy(&c->memory, c->descriptors[i], &d, sizeof(d)) ||
		    d.version != 1)
			d = (struct descriptor){.first = 0};
		changed |= memcmp(&d, &c->last[i], sizeof(d)) != 0;
		c->last[i] = d;
	}
	return changed;
}

/* Drops what the last look has not seen; true if there was some. */
static bool
drop_unseen(struct process *proc, struct code_process *c)
{
	bool dropped = false;

	for (size_t i = c->nobjects; i--;) {
		if (c->objects[i].seen)
			continue;
		drop_object(proc, c, i);
		dropped = true;
	}
	return dropped;
}

/* True if the newest rows are those of the last look. Programs often put a row
 * where they have just released another one. */
static bool
starts_alike(struct code_process *c)
{
	struct row row;

	for (unsigned i = 0; i < c->ndescriptors; i++) {
		uint64_t first = c->last[i].first;

		if (first &&
		    (memory_copy(&c->memory, first, &row, sizeof(row)) ||
		     !find_object(c, first, &row)))
			return false;
	}
	return true;
}

/* Reads the lists again; true if mappings have changed. */
static bool
read_lists(struct process *proc, struct code_process *c)
{
	bool changed = false;

	c->due = false;
	for (size_t i = 0; i < c->nobjects; i++)
		c->objects[i].seen = false;
	for (unsigned i = 0; i < c->ndescriptors; i++)
		changed |= read_list(proc, c, c->last[i].first);
	changed |= drop_unseen(proc, c);
	if (changed && proc->unwinder)
		unwinder_flush(proc->unwinder);
	return changed;
}

/* Looks for new code, if the process may take the time; true if mappings have
 * changed. */
static bool
look(struct process *proc, struct code_process *c)
{
	bool changed = false;

	c->looked_ns = c->now_ns;
	if (!modules_spend(proc->modules, (int32_t)proc->pid, 0))
		return false;
	c->due |= search(proc, c); /* counts for itself */
	c->counted_ns = clock_cpu_ns();
	if (!c->ndescriptors && !c->nobjects)
		return false;
	c->due |= read_descriptors(c);
	if (c->due || !starts_alike(c))
		changed = read_lists(proc, c);
	(void)may_go_on(proc, c);
	return changed;
}

bool
process_code_look(struct process *proc)
{
	struct code_process *c = proc->jit ? NULL : code_of(proc);

	return c && (!c->looked_ns || c->now_ns - c->looked_ns >= NEW_NS) &&
	       look(proc, c);
}

/* --- copies of code ------------------------------------------------------- */

static bool
begin_copy(struct code_process *c)
{
	struct elf_image *e = c->copy;

	if (c->table)
		return true;
	if (!e) {
		e = c->copy = calloc(1, sizeof(*e));
		if (!e)
			return false;
		e->fd = -1;
		e->machine = UNWIND_HOST;
		e->mem = malloc(PART * MAX_PARTS);
	}
	return e->mem && !unwind_table_new(e, &c->table);
}

/* Finds the part with an address, or reads it; NULL: there is no room. */
static const struct elf_segment *
part_of(struct process *proc, struct code_process *c, uint64_t start,
        uint64_t end)
{
	struct elf_image *e = c->copy;
	struct elf_segment *s;

	for (uint32_t i = 0; i < e->nsegments; i++)
		if (e->segments[i].vaddr == start)
			return &e->segments[i];
	if (e->nsegments == MAX_PARTS)
		return NULL;
	s = &e->segments[e->nsegments++];
	*s = (struct elf_segment){.type = PT_LOAD,
	                          .flags = PF_R | PF_X,
	                          .offset = e->size,
	                          .vaddr = start,
	                          .memsz = end - start};
	if (memory_copy(&c->memory, start, e->mem + e->size, end - start))
		return s;
	s->filesz = end - start;
	e->size += s->filesz;
	unwind_table_forget(c->table);
	if (proc->unwinder)
		unwinder_flush(proc->unwinder);
	return s;
}

void
process_code_copy(struct process *proc, uint64_t addr,
                  struct unwind_mapping *out)
{
	struct code_process *c = code_of(proc);
	uint64_t start = addr & ~(PART - 1), end = start + PART;

	if (!c || !begin_copy(c))
		return;
	start = start > out->start ? start : out->start;
	end = end < out->end ? end : out->end;
	if (!c->copy->nsegments)
		c->copied_ns = c->now_ns;
	if (!part_of(proc, c, start, end))
		return;
	out->start = start;
	out->end = end;
	out->table = c->table;
}

/* Drops the copies, since code at the same place may be another by now. */
static void
drop_copies(struct process *proc, struct code_process *c)
{
	if (!c->copy || !c->copy->nsegments ||
	    c->now_ns - c->copied_ns < AGE_NS)
		return;
	c->copy->nsegments = 0;
	c->copy->size = 0;
	unwind_table_forget(c->table);
	if (proc->unwinder)
		unwinder_flush(proc->unwinder);
}

void
process_code_begin(struct process *proc)
{
	struct code_process *c = proc->code;

	if (!c)
		return;
	c->now_ns = (uint64_t)clock_mono_ns();
	drop_copies(proc, c);
	if (c->nobjects && c->now_ns - c->looked_ns >= OLD_NS)
		(void)look(proc, c);
}

#include "process_code.h"

#include "base/clock.h"
#include "capture/elf/elf_object.h"
#include "capture/unwind/unwind_arch.h"

#include <errno.h>
#include <string.h>

#define DESCRIPTOR      "__jit_debug_descriptor"
#define MAX_DESCRIPTORS 4
#define MAX_OBJECT      ((uint64_t)4 << 20)  /* bytes of an object file */
#define NEW_NS          UINT64_C(50000000)   /* between looks for new code */
#define OLD_NS          UINT64_C(250000000)  /* between looks at known code */
#define PART            ((uint64_t)64 << 10) /* bytes that are copied at once */
#define MAX_PARTS       16
#define AGE_NS          UINT64_C(1000000000) /* a copy is valid for this long */

/* Source: GDB manual, "Using the Interface" */
struct descriptor {
	uint32_t version, action;
	uint64_t relevant, first; /* addresses of list entries */
};
struct row {
	uint64_t next, before, file, size;
};

struct object {
	uint64_t at;     /* address of its list entry, */
	struct row row;  /* and a copy of that */
	uint32_t module; /* 0: the file can't be read, or other code lies at its
	                    place now */
	size_t bytes;
	bool seen; /* it is still in the list */
};

struct code_process {
	struct memory memory;
	struct memory_spare spare;
	uint64_t now_ns;
	/* Addresses of descriptors, and their contents at the last look. */
	uint64_t descriptors[MAX_DESCRIPTORS];
	struct descriptor last[MAX_DESCRIPTORS];
	unsigned ndescriptors;
	uint64_t looked_ns; /* 0: never */
	int64_t counted_ns; /* our CPU time when may_go_on() was last called */
	bool due;           /* read the lists, even if no descriptor has
	                       changed */
	struct object objects[CODE_MAX_OBJECTS];
	size_t nobjects, bytes;
	/* A copy of code that nothing describes. Each segment of it is a part
	 * of PART bytes; one that could not be read is empty. */
	struct elf_image *copy;     /* NULL: none yet */
	struct unwind_table *table; /* of copy */
	uint64_t copied_ns;         /* when the oldest part was read */
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

/* Charges the CPU time since the last call to the process's budget; false once
 * the budget is spent. */
static bool
may_go_on(const struct process *proc, struct code_process *c)
{
	const int64_t before_ns = c->counted_ns;

	c->counted_ns = clock_cpu_ns();
	return modules_spend(proc->modules, (int32_t)proc->pid,
	                     c->counted_ns - before_ns);
}

/* Looks in each mapped file for the descriptor, the interface's variable; true
 * if the descriptors are not those of the last search. Most programs have one
 * for all libraries, but a plugin that is loaded later may bring its own. */
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

/* True if all of the code lies in anonymous memory of the process. */
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

/* Adds the object file of a new list entry, and maps its code. A file that
 * can't be read is kept without a module, so that it is not read again. */
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

/* Replaces the mapping of an object's code by one of anonymous memory. */
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

/* False if the object's module is gone: when a file was mapped over all of the
 * object's code, the row of the module was free, and may be the file's by now.
 * (When another object takes the place, add_object() resets o->module.) */
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

/* Reads the list of a descriptor, and adds new objects; true if there were
 * any. */
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

/* Reads the descriptors; true if one has changed. */
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

/* Drops the objects that are in no list; true if there were any. */
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

/* True if each list begins with an entry that is known. A program that removes
 * an entry and adds another often reuses its memory: the descriptor then looks
 * unchanged. */
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

/* Looks for new code, if the process's budget allows it; true if mappings have
 * changed. */
static bool
look(struct process *proc, struct code_process *c)
{
	bool changed = false;

	c->looked_ns = c->now_ns;
	if (!modules_spend(proc->modules, (int32_t)proc->pid, 0))
		return false;
	c->due |= search(proc, c); /* charges its own time */
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

/* Drops old copies, since other code may be there by now. */
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

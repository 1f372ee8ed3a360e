/*
 * Recognises Perl: the command, and the library that other programs load.
 *
 *   Source   Perl 5.32 to 5.42, perlvars.h, patchlevel.h, thread.h
 */
#include "perl.h"

#include "capture/elf/elf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

/* --- the image ------------------------------------------------------------ */

enum { RUN, VERSION, INTERPRETER, KEY, WANTED };

/* Reads the version; PERL_VERSIONS for one whose layout is not known. */
static enum perl_version
version_at(const struct elf_image *elf, uint64_t vaddr)
{
	uint64_t offset, left;
	enum perl_version v = 0;
	uint8_t minor;

	if (!elf_offset_of(elf, vaddr, &offset, &left) ||
	    elf_read(elf, offset, &minor, sizeof(minor)))
		return PERL_VERSIONS;
	while (v < PERL_VERSIONS && perl_versions[v].minor != minor)
		v++;
	return v;
}

/* A Perl without threads has its variables elsewhere, and no key. */
static int
recognise(const char *path, const struct elf_image *elf,
          struct interp_image *out)
{
	struct elf_wanted want[WANTED] = {
		[RUN] = {.name = "Perl_runops_standard"},
		[VERSION] = {.name = "PL_version"},
		[INTERPRETER] = {.name = "PL_curinterp"},
		[KEY] = {.name = "PL_thr_key"},
	};
	int rc = strstr(path, "perl")
	                 ? elf_find_symbols(elf, SHT_DYNSYM, want, WANTED)
	                 : -ENOENT;

	if (rc || !want[RUN].value || !want[VERSION].value)
		return rc ? rc : -ENOENT;
	*out = (struct interp_image){
		.version = want[INTERPRETER].value && want[KEY].value
	                           ? version_at(elf, want[VERSION].value)
	                           : PERL_VERSIONS,
		.eval_start = want[RUN].value,
		.eval_end = want[RUN].value + want[RUN].size,
		.goes_on = 2, /* an eval that catches exceptions */
		.enters_early = true,
		.roots = {[PERL_INTERPRETER] = want[INTERPRETER].value,
	                  [PERL_THREAD_KEY] = want[KEY].value},
	};
	return 0;
}

/* --- threads -------------------------------------------------------------- */

/* In glibc's struct pthread: values of the first keys, each behind a word. */
#define FIRST_VALUE 784
#define VALUE       16
#define FIRST_KEYS  32

/* Returns the offset from the thread pointer of a key's value; 0: not known. On
 * 64-bit ARM it depends on the version of glibc.
 *   Source   glibc 2.31 to 2.41, nptl/descr.h */
static uint32_t
offset_of_key(uint32_t key)
{
#ifdef __x86_64__
	return key < FIRST_KEYS ? FIRST_VALUE + VALUE * key + 8 : 0;
#else
	(void)key;
	return 0;
#endif
}

/* Returns the number of a process's first thread in its pid namespace. */
static uint32_t
first_thread(const struct memory *m)
{
	struct host_ask ask = {.op = HOST_INNER, .pid = m->pid};
	uint32_t number;

	return host_value(m->host, &ask, &number) ? (uint32_t)m->pid : number;
}

static int
list(const struct interp_space *space, struct interp_list *out)
{
	const struct interp_image *image = space->image;
	const uint64_t head = image->roots[PERL_INTERPRETER] + space->bias;
	uint64_t interpreter;
	uint32_t key;
	int rc;

	if (image->version >= PERL_VERSIONS)
		return -EBADMSG;
	rc = memory_copy(space->memory, head, &interpreter, 8);
	if (rc || !interpreter)
		return rc ? rc : -ENOENT;
	rc = memory_copy(space->memory,
	                 image->roots[PERL_THREAD_KEY] + space->bias, &key,
	                 sizeof(key));
	if (rc)
		return rc;
	*out = (struct interp_list){
		.language = LANGUAGE_PERL,
		.layout = perl_versions[image->version].here,
		.at = {[PERL_KEY] = offset_of_key(key),
	               [PERL_FIRST] = first_thread(space->memory)},
		.head = head,
	};
	return 0;
}

static int
attach(const struct interp_space *space, struct interp_threads *out)
{
	struct interp_list l;
	int rc = list(space, &l);

	if (rc)
		return rc;
	out->layout = l.layout;
	return interp_threads_add(out, l.at[PERL_FIRST], l.head);
}

/* --- places --------------------------------------------------------------- */

/* A position is a line. */
static uint32_t
line(const uint8_t *table, size_t n, uint32_t first_line, uint32_t at)
{
	(void)table;
	(void)n;
	return at ? at : first_line;
}

const struct language perl_language = {
	.id = LANGUAGE_PERL,
	.in_thread = true,
	.recognise = recognise,
	.list = list,
	.attach = attach,
	.find = perl_find,
	.step = perl_step,
	.read = perl_read,
	.place = perl_place,
	.line = line,
};

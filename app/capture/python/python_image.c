#include "python.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define MAX_SYMBOLS ((size_t)32 << 20) /* bytes of either table */

struct wanted {
	const char *name;
	uint64_t value, size;
};

enum { RUNTIME, CODE, STR, BYTES, EVAL, VERSION, WANTED };

static void
match(const Elf64_Sym *sym, const char *name, struct wanted *want)
{
	if (sym->st_shndx == SHN_UNDEF || (*name != '_' && *name != 'P'))
		return;
	for (unsigned i = 0; i < WANTED; i++) {
		if (strcmp(name, want[i].name) != 0)
			continue;
		want[i].value = sym->st_value;
		want[i].size = sym->st_size;
	}
}

static int
find_symbols(const struct elf_image *e, struct wanted *want)
{
	const struct elf_section *s = elf_section_typed(e, SHT_DYNSYM);
	CLEANUP_FREE void *symbols = NULL;
	CLEANUP_FREE void *names = NULL;
	const struct elf_section *text;
	const Elf64_Sym *sym;
	int rc;

	if (!s || s->link >= e->nsections)
		return -ENOENT;
	text = &e->sections[s->link];
	rc = elf_copy(e, s->offset, s->size, MAX_SYMBOLS, &symbols);
	if (!rc)
		rc = elf_copy(e, text->offset, text->size, MAX_SYMBOLS, &names);
	if (rc)
		return rc;
	sym = symbols;
	for (size_t i = 0; i < s->size / sizeof(*sym); i++)
		if (sym[i].st_name < text->size)
			match(&sym[i], (char *)names + sym[i].st_name, want);
	return 0;
}

/* Reads Py_Version, a PY_VERSION_HEX: 0x030b02f0 is 3.11.2. */
static int
read_minor(const struct elf_image *e, uint64_t vaddr, uint32_t *out)
{
	uint64_t offset, left, version;

	if (!elf_offset_of(e, vaddr, &offset, &left) ||
	    elf_read(e, offset, &version, sizeof(version)))
		return -ENOENT;
	if (version >> 24 != 3)
		return -ENOENT;
	*out = version >> 16 & 255;
	return 0;
}

int
python_image_read(const struct elf_image *elf, struct python_image *out)
{
	struct wanted want[WANTED] = {
		[RUNTIME] = {.name = "_PyRuntime"},
		[CODE] = {.name = "PyCode_Type"},
		[STR] = {.name = "PyUnicode_Type"},
		[BYTES] = {.name = "PyBytes_Type"},
		[EVAL] = {.name = "_PyEval_EvalFrameDefault"},
		[VERSION] = {.name = "Py_Version"},
	};
	uint32_t minor;
	int rc = find_symbols(elf, want);

	if (rc)
		return rc;
	for (unsigned i = 0; i < WANTED; i++)
		if (!want[i].value)
			return -ENOENT;
	rc = read_minor(elf, want[VERSION].value, &minor);
	if (rc || minor < 11 || minor > 13)
		return -ENOENT;
	*out = (struct python_image){
		.minor = minor,
		.runtime = want[RUNTIME].value,
		.code = want[CODE].value,
		.str = want[STR].value,
		.bytes = want[BYTES].value,
		.eval_start = want[EVAL].value,
		.eval_end = want[EVAL].value + want[EVAL].size,
	};
	return 0;
}

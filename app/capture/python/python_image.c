#include "python.h"

#include "capture/unwind/unwind_index.h"
#include "python_object.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

struct wanted {
	const char *name;
	uint64_t value, size;
};

/* The first of a version are there in all later ones. */
enum {
	RUNTIME,
	CODE,
	STR,
	BYTES,
	EVAL,
	NEEDED,
	VERSION = NEEDED,
	FIRST_38,
	FIRST_39,
	FIRST_310,
	WANTED
};

static void
match(void *arg, const Elf64_Sym *sym, const char *name)
{
	struct wanted *want = arg;

	if (sym->st_shndx == SHN_UNDEF || (*name != '_' && *name != 'P'))
		return;
	for (unsigned i = 0; i < WANTED; i++) {
		if (strcmp(name, want[i].name) != 0)
			continue;
		want[i].value = sym->st_value;
		want[i].size = sym->st_size;
	}
}

/* Reads Py_Version, a PY_VERSION_HEX: 0x030b02f0 is 3.11.2. */
static int
read_version(const struct elf_image *e, uint64_t vaddr, uint32_t *out)
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

/* Finds the minor version. Interpreters up to 3.10 have no Py_Version.
 *   Source   Doc/c-api: the versions in which functions were added */
static int
read_minor(const struct elf_image *e, const struct wanted *want, uint32_t *out)
{
	if (want[VERSION].value)
		return read_version(e, want[VERSION].value, out);
	if (!want[FIRST_38].value)
		return -ENOENT;
	*out = want[FIRST_310].value  ? PYTHON_310
	       : want[FIRST_39].value ? PYTHON_39
	                              : PYTHON_38;
	return 0;
}

/* --- the part of a function that lies elsewhere --------------------------- */

/*
 * GCC puts code of a function that its profile has seldom seen into a part of
 * its own, which has an entry among the unwind tables and which the function
 * jumps into. In Debian's 3.14 almost the whole interpreter is there.
 */
#define MAX_EVAL  ((size_t)1 << 20)
#define MIN_JUMPS 4 /* bytes that only look like jumps lead anywhere */

/* Returns the bytes of a jump over 32 bits, or 0.
 *   Source   Intel SDM volume 2: JMP rel32, Jcc rel32 */
static size_t
jump_bytes(const uint8_t *p)
{
	return p[0] == 0xe9 ? 5 : p[0] == 0x0f && (p[1] & 0xf0) == 0x80 ? 6 : 0;
}

/* Finds the entry into which, but not to whose start, code jumps. */
static bool
lands_in(const struct unwind_index *x, uint64_t target, struct cfi_entry *out)
{
	uint32_t row;

	return unwind_index_find(x, target, &row) &&
	       !unwind_index_entry(x, row, out) && target > out->start &&
	       target < out->end;
}

/* Sets the part to which most jumps out of the function lead. */
static void
find_cold(const struct unwind_index *x, const uint8_t *p, size_t n,
          struct interp_image *out)
{
	uint64_t at = out->eval_start;
	uint32_t votes = 0;
	struct cfi_entry e;

	for (size_t i = 0; i + 6 <= n; i++) {
		size_t len = jump_bytes(p + i);
		int32_t far;
		uint64_t target;

		if (!len)
			continue;
		memcpy(&far, p + i + len - 4, sizeof(far));
		target = at + i + len + (uint64_t)(int64_t)far;
		if ((target >= at && target < at + n) ||
		    !lands_in(x, target, &e))
			continue;
		if (!votes) {
			out->cold_start = e.start;
			out->cold_end = e.end;
		}
		votes += e.start == out->cold_start ? 1 : UINT32_MAX;
	}
	if (votes < MIN_JUMPS)
		out->cold_start = out->cold_end = 0;
}

static int
read_cold(const struct elf_image *elf, struct interp_image *out)
{
	CLEANUP(unwind_index_done) struct unwind_index x = {.nrows = 0};
	CLEANUP_FREE void *code = NULL;
	uint64_t offset, left, n = out->eval_end - out->eval_start;
	int rc;

	if (elf->machine != EM_X86_64 ||
	    !elf_offset_of(elf, out->eval_start, &offset, &left))
		return 0;
	rc = elf_copy(elf, offset, n < left ? n : left, MAX_EVAL, &code);
	if (!rc)
		rc = unwind_index_eh(elf, &x);
	if (!rc)
		find_cold(&x, code, n < left ? n : left, out);
	return rc == -ENOMEM ? rc : 0;
}

int
python_recognise(const char *path, const struct elf_image *elf,
                 struct interp_image *out)
{
	struct wanted want[WANTED] = {
		[RUNTIME] = {.name = "_PyRuntime"},
		[CODE] = {.name = "PyCode_Type"},
		[STR] = {.name = "PyUnicode_Type"},
		[BYTES] = {.name = "PyBytes_Type"},
		[EVAL] = {.name = "_PyEval_EvalFrameDefault"},
		[VERSION] = {.name = "Py_Version"},
		[FIRST_38] = {.name = "PyCode_NewWithPosOnlyArgs"},
		[FIRST_39] = {.name = "PyObject_GC_IsTracked"},
		[FIRST_310] = {.name = "PyIter_Send"},
	};
	uint32_t minor;
	int rc = strstr(path, "python")
	                 ? elf_symbols(elf, SHT_DYNSYM, match, want)
	                 : -ENOENT;

	if (rc)
		return rc;
	for (unsigned i = 0; i < NEEDED; i++)
		if (!want[i].value)
			return -ENOENT;
	rc = read_minor(elf, want, &minor);
	if (rc || minor < PYTHON_38 || minor >= PYTHON_VERSIONS)
		return -ENOENT;
	*out = (struct interp_image){
		.version = minor,
		.eval_start = want[EVAL].value,
		.eval_end = want[EVAL].value + want[EVAL].size,
		.roots = {[PYTHON_RUNTIME] = want[RUNTIME].value,
	                  [PYTHON_CODE] = want[CODE].value,
	                  [PYTHON_STR] = want[STR].value,
	                  [PYTHON_BYTES] = want[BYTES].value},
	};
	return read_cold(elf, out);
}

#include "python.h"

#include "capture/unwind/unwind_cold.h"
#include "python_object.h"

#include <elf.h>
#include <errno.h>

/* Symbols to find. Those before NEEDED exist in every version. */
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
read_minor(const struct elf_image *e, const struct elf_wanted *want,
           uint32_t *out)
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

int
python_recognise(const struct elf_image *elf, struct interp_image *out)
{
	struct elf_wanted want[WANTED] = {
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
	int rc = elf_find_symbols(elf, SHT_DYNSYM, want, WANTED);

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
	return unwind_cold(elf, out->eval_start, out->eval_end,
	                   &out->cold_start, &out->cold_end);
}

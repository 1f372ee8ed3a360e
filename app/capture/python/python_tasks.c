/*
 * Finds the dictionary of running tasks in the module _asyncio, which is in the
 * main interpreter's dictionary of modules.
 *
 *   Source   CPython 3.8 to 3.13: Modules/_asynciomodule.c; 3.14.10:
 *            asyncio_running_task in pycore_tstate.h
 */
#include "python.h"
#include "python_object.h"

#include <errno.h>
#include <string.h>

#define MAX_KEYS 4096 /* of a dictionary */
#define MAX_NAME 32

enum { RUNNING_IN_314 = 872 }; /* offset in a thread's state */

/* Offsets of the dictionary of modules in an interpreter. */
static const uint32_t modules_of[] = {
	[PYTHON_38] = 56,   [PYTHON_39] = 856,  [PYTHON_310] = 856,
	[PYTHON_311] = 888, [PYTHON_312] = 944, [PYTHON_313] = 7656,
};

enum { DICT_KEYS = 32, MODULE_DICT = 16, GENERAL = 0 };
enum { MAIN = 8 }; /* the main interpreter, after the newest */

struct entries {
	uint64_t at, n;
	uint32_t step; /* bytes of an entry: a hash if it is 24, key, value */
};

static int
find_entries(const struct memory *m, uint32_t minor, uint64_t dict,
             struct entries *out)
{
	uint8_t head[40];
	uint64_t keys;
	int rc = memory_copy(m, dict + DICT_KEYS, &keys, sizeof(keys));

	if (!rc)
		rc = memory_copy(m, keys, head, sizeof(head));
	if (rc)
		return rc;
	*out = minor <= PYTHON_310
	               ? (struct entries){.at = keys + 40 +
	                                        memory_u64(head, 8) *
	                                                (memory_u64(head, 8) >
	                                                                 255
	                                                         ? 2
	                                                         : 1),
	                                  .n = memory_u64(head, 32),
	                                  .step = 24}
	               : (struct entries){.at = keys + 32 +
	                                        (UINT64_C(1) << (head[9] & 31)),
	                                  .n = memory_u64(head, 24),
	                                  .step = head[10] == GENERAL ? 24
	                                                              : 16};
	return out->n > MAX_KEYS ? -E2BIG : 0;
}

/* Finds the value of a key in a dictionary. */
static int
find(const struct memory *m, uint32_t minor, uint64_t dict, const char *key,
     uint64_t *out)
{
	const size_t text = minor <= PYTHON_311 ? 48 : 40, n = strlen(key);
	CLEANUP(memory_batch_done) struct memory_batch batch = {0};
	CLEANUP_FREE uint8_t *bytes = NULL;
	CLEANUP_FREE struct memory_piece *pieces = NULL;
	struct entries e;
	int rc = find_entries(m, minor, dict, &e);

	if (rc)
		return rc;
	bytes = malloc(e.n * e.step + 1);
	pieces = calloc(e.n + 1, sizeof(*pieces));
	if (!bytes || !pieces)
		return -ENOMEM;
	rc = memory_copy(m, e.at, bytes, e.n * e.step);
	for (size_t i = 0; i < e.n && !rc; i++) {
		uint64_t at = memory_u64(bytes, (i + 1) * e.step - 16);

		pieces[i] = (struct memory_piece){
			.addr = at, .len = at ? (uint32_t)(text + n) : 0};
	}
	if (!rc)
		rc = memory_read(m, pieces, e.n, &batch);
	for (size_t i = 0; i < e.n && !rc; i++) {
		if (pieces[i].len && pieces[i].got == pieces[i].len &&
		    memory_u64(pieces[i].p, 16) == n &&
		    !memcmp(pieces[i].p + text, key, n)) {
			*out = memory_u64(bytes, (i + 1) * e.step - 8);
			return 0;
		}
	}
	return rc ?: -ENOENT;
}

int
python_asyncio(const struct interp_space *space, const struct interp_list *list,
               const char *name, uint64_t *out)
{
	const struct memory *m = space->memory;
	const uint32_t minor = space->image->version;
	uint64_t at;
	int rc = memory_copy(m, list->head + MAIN, &at, sizeof(at));

	if (!rc)
		rc = memory_copy(m, at + modules_of[minor], &at, sizeof(at));
	if (!rc)
		rc = find(m, minor, at, "_asyncio", &at);
	if (!rc)
		rc = memory_copy(m, at + MODULE_DICT, &at, sizeof(at));
	return rc ?: find(m, minor, at, name, out);
}

uint64_t
python_tasks(const struct interp_space *space, const struct interp_list *list)
{
	const uint64_t minor = space->image->version;
	uint64_t root = 0;

	if (minor > PYTHON_LAST_TASK)
		return 0;
	if (minor == PYTHON_314)
		root = RUNNING_IN_314 - list->at[PYTHON_FRAME];
	else if (python_asyncio(space, list, "_current_tasks", &root))
		return 0;
	return (root & PYTHON_ADDRESS) | minor << PYTHON_MINOR;
}

/*
 * Finds functions written in Python, in processes that run CPython 3.8 to 3.15,
 * as capture/interp/interp.h says.
 *
 * The interpreter's image holds the address of its runtime. A frame refers to
 * a code object; the name of an asyncio task counts as one (python_tasks.h).
 */
#pragma once

#include "base/buf.h"
#include "capture/elf/elf.h"
#include "capture/host/memory.h"
#include "capture/interp/interp_codes.h"
#include "python_walk.h"

/* Roots of an image: the runtime, and type objects. */
enum { PYTHON_RUNTIME, PYTHON_CODE, PYTHON_STR, PYTHON_BYTES };

extern const struct language python_language;

MUST_CHECK int
python_recognise(const struct elf_image *elf, struct interp_image *out);
MUST_CHECK int
python_list(const struct interp_space *space, struct interp_list *out);
/* Finds a variable of the module _asyncio.
 *   Errors   -ENOENT, -E2BIG, -ENOMEM, those of memory_copy() */
MUST_CHECK int
python_asyncio(const struct interp_space *space, const struct interp_list *list,
               const char *name, uint64_t *out);
/* Returns own[1] of the process's slots (python_tasks.h). */
uint64_t
python_tasks(const struct interp_space *space, const struct interp_list *list);
/* Lists the tasks that wait, each with those that await it
 * (python_tasks.h). */
MUST_CHECK int python_waiting(const struct interp_space *space,
                              interp_waiting_seen *seen, void *arg);
MUST_CHECK int
python_attach(const struct interp_space *space, struct interp_threads *out);
MUST_CHECK int
python_read(struct interp_codes *c, const struct interp_space *space,
            const struct interp_unread *rows, uint32_t n);
MUST_CHECK int python_place(const struct interp_code *code,
                            const struct interp_frame *f, uint64_t *out);

#include "process_runtime.h"

#include "base/title.h"
#include "capture/quality.h"

#include <string.h>

static const char *const languages[] = {
#define QUALITY_RUNTIME(of, language, how, text) \
	[QUALITY_RUNTIME_##of] = language,
#include "capture/host/quality.def"
#undef QUALITY_RUNTIME
};

static bool
is_program(const struct module *m)
{
	return m->elf && m->elf->is_program;
}

static uint32_t
bit_of(const char *path)
{
	const char *language = title_language(path);

	for (size_t i = 0; i < ARRAY_LEN(languages); i++)
		if (!strcmp(languages[i], language))
			return UINT32_C(1) << i;
	return 0;
}

/* Returns the bit of the language that a process runs, unless one of its files
 * is a runtime that is read. */
static uint32_t
runtime_of(struct process *proc)
{
	if (proc->runtime_looked)
		return proc->runtime;
	proc->runtime_looked = true;
	proc->runtime = 0;
	for (uint32_t i = 0; i < proc->maps.n; i++) {
		const uint32_t row = proc->maps.rows[i].module;
		const struct module *m = proc->modules->rows[row];

		if (m->interp || m->jit)
			return proc->runtime = 0;
		if (is_program(m))
			proc->runtime |= bit_of(m->path);
	}
	return proc->runtime;
}

uint32_t
process_runtime(struct process *proc, const struct proc_stack *stack)
{
	const uint32_t runtime = runtime_of(proc);

	for (size_t i = 0; runtime && i < stack->n; i++) {
		const struct module *m =
			proc->modules->rows[stack->places[i].module];

		if (m && (m->pid || is_program(m)))
			return runtime;
	}
	return 0;
}

/* JavaScript's V8 as a language that compiles at run time. */
#include "v8.h"

#include "capture/elf/elf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX     "v8dbg_"
#define TRAMPOLINE "Builtins_InterpreterEntryTrampoline"

/* --- what the file says --------------------------------------------------- */

static const struct {
	const char *name;
	bool required;
} fields[V8_FIELDS] = {
#define REQUIRED                true
#define OPTIONAL                false
#define FIELD(id, name, needed) [V8_##id] = {name, needed},
#include "v8_fields.def"
#undef FIELD
};

struct search {
	const struct elf_image *elf;
	struct v8_image *image;
	uint64_t start, end; /* of the trampoline */
};

static bool
is_name(const char *field, const char *name)
{
	const size_t n = strlen(field);

	return !strncmp(name, field, n) && (!name[n] || field[n - 1] == '_');
}

/* Reads a variable of the file; zero if its value is not in the file. */
static int32_t
value_of(const struct elf_image *elf, const Elf64_Sym *sym)
{
	uint64_t offset, left;
	int32_t value = 0;

	if (sym->st_size != sizeof(value) ||
	    !elf_offset_of(elf, sym->st_value, &offset, &left) ||
	    left < sizeof(value) ||
	    elf_read(elf, offset, &value, sizeof(value)))
		return 0;
	return value;
}

static void
match(void *arg, const Elf64_Sym *sym, const char *name)
{
	struct search *s = arg;

	if (*name == 'B' && !strcmp(name, TRAMPOLINE)) {
		s->start = sym->st_value;
		s->end = sym->st_value + sym->st_size;
	}
	if (strncmp(name, PREFIX, sizeof(PREFIX) - 1) != 0)
		return;
	name += sizeof(PREFIX) - 1;
	for (size_t i = 0; i < V8_FIELDS; i++)
		if (!s->image->has[i] && is_name(fields[i].name, name)) {
			s->image->field[i] = value_of(s->elf, sym);
			s->image->has[i] = true;
		}
}

static bool
is_complete(const struct v8_image *image)
{
	for (size_t i = 0; i < V8_FIELDS; i++)
		if (fields[i].required && !image->has[i])
			return false;
	return image->has[V8_SHARED_SCRIPT] || image->has[V8_SHARED_DEBUG];
}

static bool
has_inlines(const struct v8_image *image)
{
	static const enum v8_field needed[] = {
		V8_TYPE_CODE,  V8_TYPE_STREAM, V8_STREAM_START,
		V8_TYPE_ARRAY, V8_DEOPT_CALLS, V8_DEOPT_FUNCTIONS};

	for (size_t i = 0; i < ARRAY_LEN(needed); i++)
		if (!image->has[needed[i]])
			return false;
	return image->field[V8_STREAM_START] >= 16 &&
	       image->field[V8_STREAM_START] <= 64;
}

static int
recognise(const struct elf_image *elf, struct jit_image *out)
{
	CLEANUP_FREE struct v8_image *image = NULL;
	struct elf_wanted key = {.name = PREFIX "FirstNonstringType"};
	struct search s = {.elf = elf};
	int rc = elf_find_symbols(elf, SHT_DYNSYM, &key, 1);

	if (rc || !key.value || elf->machine != EM_X86_64)
		return -ENOENT;
	image = calloc(1, sizeof(*image));
	if (!image)
		return -ENOMEM;
	s.image = image;
	rc = elf_symbols(elf, SHT_DYNSYM, match, &s);
	if (!s.end)
		rc = elf_symbols(elf, SHT_SYMTAB, match, &s);
	if (rc && rc != -ENOENT)
		return rc;
	if (!is_complete(image))
		return -ENOENT;
	image->inlines = has_inlines(image);
	out->start = s.start;
	out->end = s.end;
	out->data = TAKE(image);
	return 0;
}

/* --- processes ------------------------------------------------------------ */

static void
detach(void *runtime)
{
	struct v8 *v = runtime;

	if (!v)
		return;
	pairs_done(&v->keys);
	free(v->rows);
	free(v);
}

static int
attach(const struct jit_space *space, void **runtime)
{
	struct v8 *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	v->image = space->image->data;
	v->keys.max = V8_MAX_FUNCTIONS;
	*runtime = v;
	return 0;
}

const struct jit v8_jit = {
	.id = JIT_JAVASCRIPT,
	.guest = "(WebAssembly)",
	.recognise = recognise,
	.forget = free,
	.attach = attach,
	.detach = detach,
	.step = v8_step,
	.names = v8_names,
	.line = v8_line,
};

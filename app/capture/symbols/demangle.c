#include "demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

/* Without DMGL_NO_RECURSE_LIMIT libiberty bounds its recursion itself. */
#define CXX_OPTIONS  (DMGL_ANSI | DMGL_GNU_V3)
#define RUST_OPTIONS DMGL_RUST

struct sink {
	char *out;
	size_t len;
	jmp_buf full;
};

/* libiberty has no way to be told to stop, and would go on printing for
 * hours where substitutions double; it holds no lock and, for C++, no heap
 * while it prints, so it is left by a jump. */
static void
take(const char *text, size_t n, void *arg)
{
	struct sink *s = arg;
	size_t room = DEMANGLE_MAX - 1 - s->len;
	size_t some = n < room ? n : room;

	memcpy(s->out + s->len, text, some);
	s->len += some;
	s->out[s->len] = '\0';
	if (some < n)
		longjmp(s->full, 1);
}

static bool
is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R') &&
	       strnlen(name, DEMANGLE_MAX_INPUT + 1) <= DEMANGLE_MAX_INPUT;
}

static bool
demangle_whole(const char *name, char out[DEMANGLE_MAX])
{
	struct sink s = {.out = out};

	if (setjmp(s.full)) {
		memcpy(out + DEMANGLE_MAX - 4, "...", 4);
		return true;
	}
	if (rust_demangle_callback(name, RUST_OPTIONS, take, &s) && s.len)
		return true;
	s.len = 0; /* a name that only looked like Rust */
	return cplus_demangle_v3_callback(name, CXX_OPTIONS, take, &s) && s.len;
}

bool
demangle(const char *name, char out[DEMANGLE_MAX])
{
	const char *version = strchrnul(name, '@');
	char bare[DEMANGLE_MAX_INPUT + 1];
	size_t n = (size_t)(version - name), room;

	if (!is_mangled(name))
		return false;
	memcpy(bare, name, n);
	bare[n] = '\0';
	if (!demangle_whole(bare, out))
		return false;
	room = DEMANGLE_MAX - 1 - strlen(out);
	if (strlen(version) <= room)
		strcat(out, version);
	return true;
}

#include "futex.h"

#include "base/buf.h"
#include "capture/interp/interp_layout.h"

#include <string.h>

#define TEXT_MAX 64
#define NEAR     8 /* frames between a futex and the object it belongs to */
#define PARK     "Parker::park" /* Java's locks are within NEAR of it */

static const struct {
	enum { LOCK, OTHER } kind;
	const char *part, *reason;
} rows[] = {
#define FUTEX(kind, part, reason) {kind, part, reason},
#include "futex.def"
#undef FUTEX
};

static const struct {
	enum language_id language;
	const char *part, *reason;
} callers[] = {
#define FUTEX_FROM(language, part, reason) {LANGUAGE_##language, part, reason},
#include "futex.def"
#undef FUTEX_FROM
};

static const struct {
	const char *part, *caller, *reason;
} exceptions[] = {
#define FUTEX_NOT(part, caller, reason) {part, caller, reason},
#include "futex.def"
#undef FUTEX_NOT
};

static const struct {
	const char *part, *reason;
} words[] = {
#define FUTEX_WORD(part, reason) {part, reason},
#include "futex.def"
#undef FUTEX_WORD
};

static const char *
line_name(const struct profile *p, const struct location *at, uint32_t line)
{
	const struct line *l = &p->lines[at->line0 + line];

	return profile_text(p, p->functions[l->function].name);
}

static bool
is_in(const struct profile *p, uint32_t location, const char *part)
{
	const struct location *at = &p->locations[location];

	for (uint32_t i = 0; i < at->nlines; i++)
		if (strstr(line_name(p, at, i), part))
			return true;
	return false;
}

static bool
is_of_interpreter(const struct profile *p, uint32_t location,
                  enum language_id of)
{
	const struct location *at = &p->locations[location];

	return at->mapping != PROFILE_NONE &&
	       p->mappings[at->mapping].interpreter == of + 1u;
}

/* Finds the lock that a function waits for if an interpreter has called it. */
static const char *
caller_reason(const struct profile *p, uint32_t callee, uint32_t caller)
{
	for (size_t i = 0; i < ARRAY_LEN(callers); i++)
		if (is_in(p, callee, callers[i].part) &&
		    is_of_interpreter(p, caller, callers[i].language))
			return callers[i].reason;
	return NULL;
}

/*
 * True if the method that parks the thread is interpreted; methods of the JDK
 * that do nothing else are skipped.
 */
static bool
is_hidden(const struct profile *p, const uint32_t *stack, uint32_t n,
          uint32_t park)
{
	static const char *const parts[] = {"Unsafe_Park", "Unsafe.park",
	                                    "LockSupport.park"};
	uint32_t i = park + 1;

	for (size_t k = 0; k < ARRAY_LEN(parts); k++)
		i += i < n && is_in(p, stack[i], parts[k]);
	return i < n && (is_in(p, stack[i], "Interpreter") ||
	                 is_in(p, stack[i], "[anon]"));
}

/* Finds what a caller of a lock's function builds on the lock; NULL:
 * nothing. */
static const char *
exception_reason(const struct profile *p, const uint32_t *stack, uint32_t n,
                 uint32_t lock)
{
	for (size_t k = 0; k < ARRAY_LEN(exceptions); k++) {
		if (!is_in(p, stack[lock], exceptions[k].part))
			continue;
		for (uint32_t i = lock + 1; i < n && i <= lock + NEAR; i++)
			if (is_in(p, stack[i], exceptions[k].caller))
				return exceptions[k].reason;
	}
	return NULL;
}

struct futex_wait
futex_wait_of(const struct profile *p, const uint32_t *stack, uint32_t n)
{
	struct futex_wait wait = {"futex", false, false};
	uint32_t near = NEAR;
	bool known = false;

	for (uint32_t i = 0; i < n && i < near; i++) {
		const char *lock =
			i + 1 < n ? caller_reason(p, stack[i], stack[i + 1])
				  : NULL;
		const char *other = exception_reason(p, stack, n, i);

		if (lock)
			return (struct futex_wait){lock, true, false};
		if (other)
			return (struct futex_wait){other, false, false};
		if (is_in(p, stack[i], PARK)) {
			near = i + 1 + NEAR;
			wait.hidden = is_hidden(p, stack, n, i);
		}
		for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
			if ((known && rows[k].kind != LOCK) ||
			    !is_in(p, stack[i], rows[k].part))
				continue;
			wait.reason = rows[k].reason;
			if (rows[k].kind == LOCK) {
				wait.lock = true;
				wait.hidden = false;
				return wait;
			}
			known = true;
		}
	}
	return wait;
}

/* True for functions that make any system call or any futex(2), and for those
 * without a name: the next frame shows what the wait is for. */
static bool
is_between(const struct profile *p, uint32_t location)
{
	return is_in(p, location, "+0x") || is_in(p, location, "syscall") ||
	       is_in(p, location, "futex_wait");
}

const char *
futex_word_of(const struct profile *p, const uint32_t *stack, uint32_t n)
{
	for (uint32_t i = 0; i < n && i < NEAR; i++) {
		for (size_t k = 0; k < ARRAY_LEN(words); k++)
			if (is_in(p, stack[i], words[k].part))
				return words[k].reason;
		if (!is_between(p, stack[i]))
			break;
	}
	return NULL;
}

int
futex_location(struct profile *p, uint32_t wait, const char *reason,
               uint32_t *out)
{
	CLEANUP_BUF struct buf name = BUF_INIT(TEXT_MAX);
	const struct location *at = &p->locations[wait];
	struct function function = {0};
	struct line line = {0};
	int rc;

	buf_addf(&name, "[%s]", reason);
	rc = buf_err(&name)
	             ?: profile_cstring(p, buf_str(&name), &function.name);
	function.system_name = function.name;
	if (!rc)
		rc = profile_function(p, &function, &line.function);
	return rc ? rc
	          : profile_location(p, at->mapping, at->address, &line, 1,
	                             out);
}

#include "java_text.h"

#include "base/proc_text.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define QUIT_BIT (UINT64_C(1) << (SIGQUIT - 1))

/* True when a line ends with this path, even if the file was deleted; a
 * newline in a path is written \012. */
static bool
maps_file(const char *maps, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = maps; (at = strstr(at, name)); at += n)
		if (at[n] == '\n' || at[n] == '\0' ||
		    !strncmp(at + n, " (deleted)", 10))
			return true;
	return false;
}

bool
java_is_hotspot(const char *maps)
{
	return maps_file(maps, "/libjvm.so") && !strstr(maps, "/libj9");
}

/* Reads the four ids of a line, which must be equal. */
static int
one_id(const char *text, uint32_t *out)
{
	unsigned long id[4];
	char *end;

	for (int i = 0; i < 4; i++) {
		id[i] = text ? strtoul(text, &end, 10) : 0;
		if (!text || end == text || id[i] > UINT32_MAX)
			return -EINVAL;
		text = end;
	}
	for (int i = 1; i < 4; i++)
		if (id[i] != id[0])
			return -EPERM;
	*out = (uint32_t)id[0];
	return 0;
}

static int
signals(const char *text, uint64_t *out)
{
	char *end;
	uint64_t set = text ? strtoull(text, &end, 16) : 0;

	if (!text || end == text)
		return -EINVAL;
	*out = set;
	return 0;
}

int
java_parse_status(const char *text, struct java_status *out)
{
	char state = proc_status_state(text);
	uint64_t caught, blocked;
	struct java_status s;
	int rc = one_id(proc_status_field(text, "Uid"), &s.uid);

	if (!rc)
		rc = one_id(proc_status_field(text, "Gid"), &s.gid);
	if (!rc)
		rc = proc_parse_inner(text, &s.inner);
	if (!rc)
		rc = signals(proc_status_field(text, "SigBlk"), &blocked);
	if (!rc)
		rc = signals(proc_status_field(text, "SigCgt"), &caught);
	if (rc || !state)
		return rc ? rc : -EINVAL;
	s.stopped = state == 'T' || state == 't';
	s.takes_quit = caught & ~blocked & QUIT_BIT;
	*out = s;
	return 0;
}

bool
java_refuses(const char *text, size_t n)
{
	static const char option[] = "+DisableAttachMechanism";

	return n && memmem(text, n, option, sizeof(option) - 1);
}

int
java_parse_answer(const char *text, size_t n)
{
	return n >= 2 && !memcmp(text, "0\n", 2) ? 0 : -EPROTO;
}

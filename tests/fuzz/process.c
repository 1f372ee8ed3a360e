/*
 * Files of /proc, in which a process chooses names, words and paths: the input
 * as each of them, and its first line as a mapping.
 */
#include "base/proc_text.h"
#include "capture/process/maps.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static volatile uint64_t sink; /* so that no read is optimised away */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
read_stat(const char *text)
{
	char comm[PROC_COMM_MAX];
	uint64_t start, ticks, pages;
	int32_t parent, session;

	if (!proc_parse_stat(text, comm, &start))
		sink += strlen(comm) + start;
	if (!proc_parse_usage(text, &ticks, &pages) ||
	    !proc_parse_memory(text, &ticks, &pages))
		sink += ticks + pages;
	if (!proc_parse_parent(text, &parent))
		assert(parent >= 0);
	if (!proc_parse_kin(text, &parent, &session))
		assert(parent >= 0 && session >= 0);
	sink += proc_is_halted(text) + proc_has_no_code(text);
}

static void
read_status(const char *text)
{
	int32_t pid;
	uint32_t uid;

	if (!proc_parse_process(text, &pid))
		assert(pid > 0);
	if (!proc_parse_inner(text, &pid))
		assert(pid > 0);
	if (!proc_parse_uid(text, &uid))
		sink += uid;
	sink += (unsigned char)proc_status_state(text);
}

static void
read_cgroup(const char *text)
{
	char unit[PROC_UNIT_MAX];

	proc_parse_unit(text, unit);
	assert(strlen(unit) < sizeof(unit) && !strchr(unit, '/'));
}

static void
read_cmdline(char *text, size_t n)
{
	proc_join_cmdline(text, n);
	for (const char *p = text; *p; p++)
		assert((unsigned char)*p >= ' ' && *p != '\177');
}

static void
read_mapping(char *line)
{
	struct map_seen seen;

	line[strcspn(line, "\n")] = '\0';
	if (maps_parse(line, &seen))
		return;
	assert(seen.start < seen.end && !seen.build_id);
	sink += strlen(seen.path);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = malloc(n + 1);

	assert(text);
	memcpy(text, data, n);
	text[n] = '\0';
	read_stat(text);
	read_status(text);
	read_cgroup(text);
	read_mapping(text);
	memcpy(text, data, n);
	read_cmdline(text, n);
	free(text);
	return 0;
}

#include "base/proc_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fields of /proc/PID/stat, as proc(5) counts them. */
enum {
	NAME = 2,
	PARENT = 4,
	SESSION = 6,
	FLAGS = 9,
	UTIME = 14,
	STIME,
	START_TIME = 22,
	RSS = 24
};

/* Reads the number in a field after the name, whose last parenthesis counts: a
 * process may call itself ") R". */
static bool
stat_field(const char *text, int number, uint64_t *out)
{
	const char *p = strrchr(text, ')');
	unsigned long long v;

	for (int field = NAME; p && field < number; field++)
		p = strchr(p + 1, ' ');
	if (!p || sscanf(p, "%llu", &v) != 1)
		return false;
	*out = v;
	return true;
}

int
proc_parse_memory(const char *text, uint64_t *out_mapped,
                  uint64_t *out_anonymous)
{
	unsigned long long mapped, resident, shared;

	if (sscanf(text, "%llu %llu %llu", &mapped, &resident, &shared) != 3)
		return -EINVAL;
	*out_mapped = mapped;
	*out_anonymous = resident > shared ? resident - shared : 0;
	return 0;
}

bool
proc_has_no_code(const char *text)
{
	unsigned long long mapped, code;

	return sscanf(text, "%llu %*u %*u %llu", &mapped, &code) == 2 &&
	       mapped && !code;
}

int
proc_parse_usage(const char *text, uint64_t *out_ticks, uint64_t *out_pages)
{
	uint64_t user, kernel, pages;

	if (!stat_field(text, UTIME, &user) ||
	    !stat_field(text, STIME, &kernel) || !stat_field(text, RSS, &pages))
		return -EINVAL;
	*out_ticks = user + kernel;
	*out_pages = pages;
	return 0;
}

char
proc_parse_state(const char *text)
{
	const char *close = strrchr(text, ')');

	return close && close[1] == ' ' ? close[2] : '\0';
}

bool
proc_is_halted(const char *text)
{
	char state = proc_parse_state(text);

	return state == 'T' || state == 't';
}

bool
proc_is_frozen(const char *stat, const char *wchan)
{
	return !strcmp(wchan, "__refrigerator") ||
	       (proc_parse_state(stat) == 'S' &&
	        (!strcmp(wchan, "do_freezer_trap") ||
	         !strcmp(wchan, "get_signal")));
}

/* True for a line "2:cpu,cpuacct:/path"; *path is then after the colon. */
static bool
is_of_cpu(const char *line, const char **path)
{
	const char *list = strchr(line, ':');
	const char *end = list ? strchr(list + 1, ':') : NULL;

	if (!end)
		return false;
	*path = end + 1;
	for (const char *at = list; at < end; at = strpbrk(at + 1, ",:"))
		if (!strncmp(at + 1, "cpu,", 4) || !strncmp(at + 1, "cpu:", 4))
			return true;
	return false;
}

bool
proc_parse_cpu_group(const char *text, char *out, size_t n)
{
	const char *base = NULL, *found = NULL, *path;
	int length;

	for (const char *line = text; line && *line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		if (is_of_cpu(line, &path)) {
			base = "/sys/fs/cgroup/cpu";
			found = path;
		} else if (!base && !strncmp(line, "0::", 3)) {
			found = line + 3;
		}
	}
	if (!found || *found != '/' || !strncmp(found, "/..", 3))
		return false;
	length = snprintf(out, n, "%s%.*s", base ? base : "/sys/fs/cgroup",
	                  (int)strcspn(found, "\n"), found);
	return length > 0 && (size_t)length < n;
}

uint64_t
proc_parse_throttled(const char *text)
{
	static const struct {
		const char *key;
		uint64_t per_us;
	} keys[] = {{"throttled_usec ", 1}, {"throttled_time ", 1000}};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *at = strstr(text, keys[i].key);

		if (at)
			return strtoull(at + strlen(keys[i].key), NULL, 10) /
			       keys[i].per_us;
	}
	return 0;
}

int
proc_parse_schedstat(const char *text, struct proc_schedstat *out)
{
	unsigned long long ran, waited, runs;

	if (sscanf(text, "%llu %llu %llu", &ran, &waited, &runs) != 3)
		return -EINVAL;
	*out = (struct proc_schedstat){ran, waited, runs};
	return 0;
}

bool
proc_parse_comm(const char *text, char comm[PROC_COMM_MAX])
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');

	if (!open || !close || close < open)
		return false;
	snprintf(comm, PROC_COMM_MAX, "%.*s", (int)(close - open - 1),
	         open + 1);
	return true;
}

int
proc_parse_stat(const char *text, char comm[PROC_COMM_MAX], uint64_t *out_start)
{
	uint64_t start;

	if (!stat_field(text, START_TIME, &start) ||
	    !proc_parse_comm(text, comm))
		return -EINVAL;
	*out_start = start;
	return 0;
}

int
proc_parse_parent(const char *text, int32_t *out)
{
	uint64_t parent;

	if (!stat_field(text, PARENT, &parent) || parent > INT32_MAX)
		return -EINVAL;
	*out = (int32_t)parent;
	return 0;
}

int
proc_parse_kin(const char *text, int32_t *out_parent, int32_t *out_session)
{
	uint64_t session;

	if (!stat_field(text, SESSION, &session) || session > INT32_MAX)
		return -EINVAL;
	*out_session = (int32_t)session;
	return proc_parse_parent(text, out_parent);
}

const char *
proc_status_field(const char *text, const char *key)
{
	size_t n = strlen(key);

	while ((text = strchr(text, '\n'))) {
		text++;
		if (!strncmp(text, key, n) && text[n] == ':')
			return text + n + 1;
	}
	return NULL;
}

static int
positive(const char *text, int32_t *out)
{
	long number = text ? strtol(text, NULL, 10) : 0;

	if (number <= 0 || number > INT32_MAX)
		return -EINVAL;
	*out = (int32_t)number;
	return 0;
}

char
proc_status_state(const char *text)
{
	const char *state = proc_status_field(text, "State");

	return state && *state == '\t' ? state[1] : '\0';
}

bool
proc_is_traced(const char *text)
{
	int32_t tracer;

	return !positive(proc_status_field(text, "TracerPid"), &tracer);
}

bool
proc_is_kernel_thread(const char *text)
{
	static const uint64_t kernel = 0x00200000; /* PF_KTHREAD */
	static const uint64_t io_worker = 0x10;    /* PF_IO_WORKER */
	uint64_t flags;

	return stat_field(text, FLAGS, &flags) && flags & (kernel | io_worker);
}

int
proc_parse_process(const char *text, int32_t *out)
{
	return positive(proc_status_field(text, "Tgid"), out);
}

int
proc_parse_inner(const char *text, int32_t *out)
{
	const char *field = proc_status_field(text, "NSpid");
	size_t n = field ? strcspn(field, "\n") : 0;

	while (n && field[n - 1] != '\t')
		n--;
	return positive(n ? field + n : NULL, out);
}

int
proc_parse_uid(const char *text, uint32_t *out)
{
	const char *field = proc_status_field(text, "Uid");
	unsigned uid;

	if (!field || sscanf(field, "%u", &uid) != 1)
		return -EINVAL;
	*out = uid;
	return 0;
}

int
proc_parse_fs_ids(const char *text, uint32_t *out_uid, uint32_t *out_gid)
{
	static const char fourth[] = "%*u %*u %*u %u";
	const char *uids = proc_status_field(text, "Uid");
	const char *gids = proc_status_field(text, "Gid");
	unsigned uid, gid;

	if (!uids || !gids || sscanf(uids, fourth, &uid) != 1 ||
	    sscanf(gids, fourth, &gid) != 1)
		return -EINVAL;
	*out_uid = uid;
	*out_gid = gid;
	return 0;
}

static bool
ends_with(const char *s, size_t n, const char *end)
{
	size_t k = strlen(end);

	return n > k && !memcmp(s + n - k, end, k);
}

/* Finds the unit in a path of n bytes, "/system.slice/a.service/payload". */
static bool
unit_of_path(const char *p, size_t n, char out[PROC_UNIT_MAX])
{
	const char *end = p + n;

	while (p < end) {
		const char *slash = memchr(p, '/', (size_t)(end - p));
		size_t len = (size_t)((slash ? slash : end) - p);

		if (len && len < PROC_UNIT_MAX &&
		    (ends_with(p, len, ".service") ||
		     ends_with(p, len, ".scope"))) {
			bool escaped = *p == '_'; /* like cg_unescape() */

			snprintf(out, PROC_UNIT_MAX, "%.*s", (int)len - escaped,
			         p + escaped);
			return true;
		}
		p += len + 1;
	}
	return false;
}

/* Returns the path of a "7:name=systemd:/path" or "0::/path" line, or NULL. */
static const char *
systemd_path(const char *line, size_t n)
{
	static const char *const hierarchies[] = {":name=systemd:", "::"};
	const char *colon = memchr(line, ':', n);

	if (!colon)
		return NULL;
	n -= (size_t)(colon - line);
	for (size_t i = 0; i < ARRAY_LEN(hierarchies); i++) {
		size_t k = strlen(hierarchies[i]);

		if (n >= k && !memcmp(colon, hierarchies[i], k))
			return colon + k;
	}
	return NULL;
}

void
proc_parse_unit(const char *text, char out[PROC_UNIT_MAX])
{
	out[0] = '\0';
	while (*text) {
		size_t n = strcspn(text, "\n");
		const char *path = systemd_path(text, n);

		if (path && unit_of_path(path, (size_t)(text + n - path), out))
			return;
		text += n + (text[n] == '\n');
	}
}

void
proc_join_cmdline(char *text, size_t n)
{
	while (n && !text[n - 1])
		n--;
	for (size_t i = 0; i < n; i++)
		if (iscntrl((unsigned char)text[i]))
			text[i] = ' ';
	text[n] = '\0';
}

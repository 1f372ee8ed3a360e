#include "base/log.h"

#include "base/driving.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct {
	const char *program;
	enum log_level most;
	int journal;
} log_state = {"stoker", LOG_INFO_, 0};

static const struct {
	const char *name;
	enum log_level level;
} levels[] = {
	{"err", LOG_ERR_},
	{"warn", LOG_WARN_},
	{"info", LOG_INFO_},
	{"debug", LOG_DEBUG_},
};

void
log_setup(const char *program, enum log_level most)
{
	log_state.program = program;
	log_state.most = most;
	log_state.journal = getenv("JOURNAL_STREAM") != NULL;
}

int
log_level_parse(const char *text, enum log_level *out)
{
	for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
		if (!strcmp(levels[i].name, text)) {
			*out = levels[i].level;
			return 0;
		}
	}
	return -EINVAL;
}

static const char *
level_name(enum log_level level)
{
	for (size_t i = 0; i < ARRAY_LEN(levels); i++)
		if (levels[i].level == level)
			return levels[i].name;
	return "?";
}

void
log_line(enum log_level level, const char *fmt, ...)
{
	char line[2048];
	va_list ap;
	int n, max = (int)sizeof(line) - 1;

	if (level > log_state.most)
		return;
	if (log_state.journal)
		n = snprintf(line, sizeof(line), "<%d>", (int)level);
	else
		n = snprintf(line, sizeof(line), "%s: %s: ", log_state.program,
		             level_name(level));
	va_start(ap, fmt);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, ap);
	va_end(ap);
	if (n > max)
		n = max;
	/* A line may quote programs and servers. Replace what could end the
	 * line, set the priority of the next, control a terminal or reverse
	 * the direction of text. */
	driving_replace(line, (size_t)n, '?');
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		return; /* there is nowhere to report this */
}

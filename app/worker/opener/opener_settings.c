/* Finds settings of allocators in the environment with which a process
 * started. */
#include "base/proc_exec.h"
#include "capture/quality.h"
#include "opener.h"

#include <fcntl.h>
#include <string.h>

#define MAX_ENVIRON ((size_t)8 << 20) /* the kernel's limit is 6 MiB */

static const struct {
	enum quality_hidden of;
	const char *text;
} settings[] = {
#define QUALITY_SETTING(of, text) {QUALITY_HIDDEN_##of, text},
#include "capture/host/quality.def"
#undef QUALITY_SETTING
};

/* Returns the bits of a text "NAME=VALUE". */
static uint32_t
set_by(const char *text)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < ARRAY_LEN(settings); i++)
		if (!strncmp(text, settings[i].text, strlen(settings[i].text)))
			bits |= UINT32_C(1) << settings[i].of;
	return bits;
}

int
read_settings(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(MAX_ENVIRON);
	const char *p;
	int rc = proc_read(AT_FDCWD, ask->pid, "environ", &text);

	(void)o;
	if (rc)
		return rc;
	p = buf_str(&text);
	for (size_t at = 0; at < text.len; at += strlen(p + at) + 1)
		out->reply.value |= set_by(p + at);
	return 0;
}

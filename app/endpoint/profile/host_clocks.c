#include "host_clocks.h"

#include "base/clock.h"
#include "store/host_sum.h"
#include "store/window.h"
#include "store/worker.h"

#include <string.h>

#define NAMED 3

bool
host_clocks_has(const void *series, const char *host)
{
	const struct series *of = series;

	return !strcmp(of->host, host) || !strcmp(of->host, HOST_SUM);
}

void
host_clocks_note(struct store *s, const char *tenant,
                 bool (*is_meant)(const void *arg, const char *host),
                 const void *arg, struct buf *out)
{
	CLEANUP_WORKERS struct worker_list l = {0};
	size_t n = 0;

	if (worker_list_off(s, tenant, &l))
		return;
	for (size_t i = 0; i < l.n; i++) {
		const struct worker *w = &l.items[i];
		char offset[CLOCK_OFFSET_LEN];

		if (!is_meant(arg, w->host) || n++ >= NAMED)
			continue;
		clock_format_offset(w->clock_ms, offset);
		buf_addf(out, "%s %s is %s",
		         n == 1 ? "the clock of" : ", that of", w->host,
		         offset);
	}
	if (n > NAMED)
		buf_addf(out, ", and %zu others are off", n - NAMED);
	if (n)
		buf_puts(out, ": the times of its windows may be wrong; "
		              "timedatectl set-ntp true on the host corrects "
		              "it");
}

#include "host_figures.h"

#include <errno.h>
#include <stdlib.h>

static void
put_row(const struct worker_list *workers, const struct host_figures *f,
        const struct host_figure *row, const char *all, const bool *known,
        struct buf *out)
{
	buf_addf(out, "# HELP %s_%s %s.\n# TYPE %s_%s %s\n", f->prefix,
	         row->metric, row->help, f->prefix, row->metric, row->kind);
	for (size_t i = 0; i < workers->n; i++) {
		const char *at = all + i * f->bytes + row->at;

		if (known[i])
			buf_addf(out, "%s_%s{host=\"%s\"} %lld\n", f->prefix,
			         row->metric, workers->items[i].host,
			         (long long)*(const int64_t *)at);
	}
}

void
host_figures_put(const struct worker_list *workers,
                 const struct host_figures *f, struct buf *out)
{
	CLEANUP_FREE char *all = calloc(workers->n + 1, f->bytes);
	CLEANUP_FREE bool *known = calloc(workers->n + 1, sizeof(*known));

	if (!all || !known) {
		out->err = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < workers->n; i++)
		known[i] = f->read(&workers->items[i], all + i * f->bytes);
	for (size_t i = 0; i < f->n; i++)
		put_row(workers, f, &f->rows[i], all, known, out);
}

/*
 * Prints a profile for scripts: one line per sample,
 *
 *	VALUE... [BYTES] FUNCTION FILE:LINE < FUNCTION FILE:LINE ...
 *
 * leaf first. BYTES is the label "bytes".
 *
 *	counts FILE
 */
#include "base/file.h"
#include "profile/pprof.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_BYTES ((size_t)256 << 20)

static void
print_stack(const struct profile *p, const struct sample *s)
{
	const char *between = "";

	for (uint32_t i = 0; i < s->nstack; i++) {
		const struct location *at =
			&p->locations[p->stack[s->stack0 + i]];

		for (uint32_t k = 0; k < at->nlines; k++) {
			const struct line *l = &p->lines[at->line0 + k];
			const struct function *f = &p->functions[l->function];

			printf("%s %s %s:%" PRId64, between,
			       profile_text(p, f->name),
			       profile_text(p, f->file), l->line);
			between = " <";
		}
	}
}

static void
print_sample(const struct profile *p, uint32_t i)
{
	const struct sample *s = &p->samples[i];

	for (uint32_t k = 0; k < p->ntypes; k++)
		printf("%" PRId64 " ", p->values[(size_t)i * p->ntypes + k]);
	for (uint32_t k = 0; k < s->nlabels; k++)
		if (!strcmp(profile_text(p, p->labels[s->label0 + k].key),
		            "bytes"))
			printf("[%" PRId64 "]", p->labels[s->label0 + k].num);
	print_stack(p, s);
	printf("\n");
}

int
main(int argc, char **argv)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_BYTES);
	CLEANUP_PROFILE struct profile *p = NULL;
	int rc = argc == 2 ? file_read(AT_FDCWD, argv[1], &bytes) : -EINVAL;

	if (!rc)
		rc = pprof_decode(bytes.p, bytes.len, MAX_BYTES, &p, &why);
	for (uint32_t i = 0; !rc && i < p->nsamples; i++)
		print_sample(p, i);
	if (rc)
		fprintf(stderr, "counts: %s: %s\n", strerror(-rc),
		        buf_str(&why));
	return rc ? 1 : 0;
}

/*
 * Decodes a pprof or packed file for scripts, with the library and without the
 * worker.
 *
 * 	folded FILE		one line per stack, root first, and its samples
 * 	folded FILE values	the same with the value that is shown
 * 	folded FILE values:NAME	or with the one of that name
 * 	folded FILE modules	samples that end in a module, and its name
 * 	folded FILE functions	samples that end in a function, and its name;
 * 				inlined functions count for their outer one
 * 	folded FILE labels	samples, their innermost frame and labels with a text
 * 	folded FILE pprof	a pprof file, for other readers
 */
#include "base/file.h"
#include "profile/export.h"
#include "profile/packed.h"
#include "profile/pprof.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define MAX_BYTES ((size_t)256 << 20)

static int
put_stacks(const struct profile *p, uint32_t type, struct buf *text)
{
	CLEANUP_TREE struct tree *t = NULL;
	struct export_meta meta = {.type = "cpu"};
	int rc = tree_new(p, type, &t);

	if (rc)
		return rc;
	if (t->counted)
		memcpy(t->self, t->samples, t->n * sizeof(*t->self));
	return format_find("folded")->write(t, &meta, text);
}

/* The format counts samples of CPU time, so this replaces the samples by
 * values. */
static int
put_values(const struct profile *p, uint32_t type, struct buf *text)
{
	CLEANUP_TREE struct tree *t = NULL;
	struct export_meta meta = {.type = "cpu"};
	int rc = tree_new(p, type, &t);

	if (rc)
		return rc;
	memcpy(t->samples, t->self, t->n * sizeof(*t->self));
	return format_find("folded")->write(t, &meta, text);
}

/* Writes a line per sample, which scripts add up. */
static int
put_modules(const struct profile *p, uint32_t type, struct buf *text)
{
	for (uint32_t i = 0; i < p->nsamples; i++) {
		const struct sample *s = &p->samples[i];

		if (s->nstack)
			buf_addf(text, "%lld %s\n",
			         (long long)p->values[i * p->ntypes + type],
			         profile_module(p, p->stack[s->stack0]));
	}
	return buf_err(text);
}

static int
put_functions(const struct profile *p, uint32_t type, struct buf *text)
{
	for (uint32_t i = 0; i < p->nsamples; i++) {
		const struct sample *s = &p->samples[i];
		uint32_t at, n;

		if (!s->nstack)
			continue;
		at = p->stack[s->stack0];
		n = p->locations[at].nlines;
		buf_addf(text, "%lld ",
		         (long long)p->values[i * p->ntypes + type]);
		profile_frame_name(p, at, n ? n - 1 : 0, text);
		buf_putc(text, '\n');
	}
	return buf_err(text);
}

/* Writes a line per sample, which scripts add up: samples, frame,
 * KEY=VALUE... */
static int
put_labels(const struct profile *p, uint32_t type, struct buf *text)
{
	for (uint32_t i = 0; i < p->nsamples; i++) {
		const struct sample *s = &p->samples[i];

		buf_addf(text, "%lld ",
		         (long long)p->values[i * p->ntypes + type]);
		if (s->nstack)
			profile_frame_name(p, p->stack[s->stack0], 0, text);
		for (uint32_t k = 0; k < s->nlabels; k++) {
			const struct label *l = &p->labels[s->label0 + k];

			buf_addf(text, " %s=%s", profile_text(p, l->key),
			         profile_text(p, l->str));
		}
		buf_putc(text, '\n');
	}
	return buf_err(text);
}

static int
put_pprof(const struct profile *p, uint32_t type, struct buf *text)
{
	(void)type;
	return pprof_encode(p, text);
}

static const struct form {
	const char *name;
	int (*put)(const struct profile *p, uint32_t type, struct buf *text);
} forms[] = {
	{"stacks", put_stacks},   {"values", put_values},
	{"modules", put_modules}, {"functions", put_functions},
	{"labels", put_labels},   {"pprof", put_pprof},
};

static int
print(const char *path, const struct form *form, const char *value,
      struct buf *why)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf text = BUF_INIT(MAX_BYTES);
	CLEANUP_PACKED struct packed k = {0};
	CLEANUP_PROFILE struct profile *p = NULL;
	uint32_t type = PROFILE_NONE;
	int rc = file_read(AT_FDCWD, path, &bytes);

	if (!rc)
		rc = packed_decode(bytes.p, bytes.len, MAX_BYTES, &k, why)
		             ?: packed_profile(&k, MAX_BYTES, &p);
	if (!rc)
		type = profile_type_index(p, value);
	if (!rc && type == PROFILE_NONE)
		type = profile_type_index(p, NULL);
	if (!rc)
		rc = form->put(p, type, &text);
	return rc ? rc : fd_write_all(STDOUT_FILENO, text.p, text.len);
}

int
main(int argc, char **argv)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	const char *name = argc == 3 ? argv[2] : forms[0].name;
	const char *colon = strchr(name, ':');
	size_t n = colon ? (size_t)(colon - name) : strlen(name);
	const char *value = colon                     ? colon + 1
	                    : !strcmp(name, "values") ? NULL
	                                              : "samples";
	int rc = -EINVAL;

	for (size_t i = 0; i < ARRAY_LEN(forms) && argc >= 2; i++)
		if (strlen(forms[i].name) == n &&
		    !strncmp(forms[i].name, name, n))
			rc = print(argv[1], &forms[i], value, &why);
	if (rc)
		fprintf(stderr, "folded: %s: %s\n", strerror(-rc),
		        buf_str(&why));
	return rc ? 1 : 0;
}

#include "capture/rename.h"

#include "capture/elf/elf_id.h"
#include "capture/symbols/debug_file.h"
#include "capture/symbols/symbols.h"
#include "capture/symbols/symtab.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct renamer {
	const struct rename_ask *ask;
	const struct profile *in;
	struct profile *out;
	struct symbolizer *symbolizer;
	struct source {
		struct rename_source from;
		struct elf_image *shared; /* NULL: none */
		bool known;
		uint32_t row; /* index of out's mappings */
	} * sources;          /* by mapping of in */
	uint32_t *locations;  /* rows of out, by in's */
};

static void
renamer_done(struct renamer *r)
{
	symbolizer_free(r->symbolizer);
	for (uint32_t i = 0; r->sources && i < r->in->nmappings; i++)
		elf_free(r->sources[i].shared);
	free(r->sources);
	free(r->locations);
	profile_free(r->out);
}

static int
renamer_init(struct renamer *r)
{
	r->out = profile_new();
	r->symbolizer = symbolizer_new(r->ask->symbols);
	r->sources = calloc(r->in->nmappings + 1, sizeof(*r->sources));
	r->locations = calloc(r->in->nlocations + 1, sizeof(*r->locations));
	return r->out && r->symbolizer && r->sources && r->locations ? 0
	                                                             : -ENOMEM;
}

static int
copy_string(struct renamer *r, uint32_t from, uint32_t *to)
{
	size_t n;
	const char *s = strings_get(r->in->strings, from, &n);

	return profile_string(r->out, s, n, to);
}

static void
open_source(struct renamer *r, uint32_t mapping, struct quality *q)
{
	struct source *s = &r->sources[mapping];
	const struct rename_source *from = &s->from;

	if (!r->ask->find(r->ask->arg, r->in, mapping, &s->from))
		return;
	if (!from->kernel &&
	    (mapping >= SYMBOLIZER_MAX_MODULES ||
	     symbolizer_add(r->symbolizer, mapping, from->elf, from->debug)))
		return;
	s->known = true;
	q->modules++;
	if (from->kernel)
		return;
	s->shared = debug_file_shared(r->ask->host,
	                              from->debug ? from->debug : from->elf);
	if (s->shared)
		symbolizer_share(r->symbolizer, mapping, s->shared);
}

/* --- rows ----------------------------------------------------------------- */

static int
copy_mapping(struct renamer *r, uint32_t i)
{
	struct mapping m = r->in->mappings[i];
	int rc = copy_string(r, m.file, &m.file);

	if (!rc)
		rc = copy_string(r, m.build_id, &m.build_id);
	if (r->sources[i].known)
		m.has_functions = m.has_files = m.has_lines = m.has_inlines =
			true;
	return rc ? rc : profile_mapping(r->out, &m, &r->sources[i].row);
}

static int
copy_line(struct renamer *r, const struct line *from, struct line *to)
{
	struct function f = r->in->functions[from->function];
	int rc = copy_string(r, f.name, &f.name);

	if (!rc)
		rc = copy_string(r, f.system_name, &f.system_name);
	if (!rc)
		rc = copy_string(r, f.file, &f.file);
	to->line = from->line;
	return rc ? rc : profile_function(r->out, &f, &to->function);
}

static int
make_line(struct renamer *r, const struct sym_frame *from, struct line *to)
{
	struct function f = {.start_line = from->start_line};
	int rc = profile_cstring(r->out, from->name, &f.name);

	if (!rc)
		rc = profile_cstring(r->out, from->system_name, &f.system_name);
	if (!rc)
		rc = profile_cstring(r->out, from->file, &f.file);
	to->line = from->line;
	return rc ? rc : profile_function(r->out, &f, &to->function);
}

static size_t
look_up_kernel(const struct symtab *kernel, uint64_t address,
               struct sym_frame *out)
{
	const char *name =
		kernel->n
			? symtab_lookup(kernel, kernel->rows[0].start + address)
			: NULL;

	*out = (struct sym_frame){
		.name = name, .system_name = name, .file = ""};
	return name != NULL;
}

/* Looks up the code at a location again; 0: no more is known than before, or
 * the location keeps its names. A client's file may say anything, so it names
 * nothing that a worker has named. */
static size_t
look_up(struct renamer *r, uint32_t at, struct sym_frame *out)
{
	const struct location *l = &r->in->locations[at];
	const struct source *s;
	size_t n;

	if (l->mapping == PROFILE_NONE || !r->sources[l->mapping].known)
		return 0;
	s = &r->sources[l->mapping];
	if ((r->ask->keeps_names || s->from.pushed) &&
	    profile_is_named(r->in, at))
		return 0;
	if (s->from.kernel)
		return look_up_kernel(s->from.kernel, l->address, out);
	n = symbolizer_lookup(r->symbolizer, l->mapping,
	                      l->address - s->from.bias, out,
	                      PROFILE_MAX_LINES);
	if (n && s->from.pushed)
		s->from.pushed->used = true;
	return n;
}

static int
add_location(struct renamer *r, uint32_t i)
{
	const struct location *l = &r->in->locations[i];
	struct sym_frame found[PROFILE_MAX_LINES];
	struct line lines[PROFILE_MAX_LINES];
	size_t now = look_up(r, i, found);
	size_t n = now ? now : l->nlines;
	uint32_t mapping = PROFILE_NONE;
	int rc = n > PROFILE_MAX_LINES ? -E2BIG : 0;

	for (size_t k = 0; k < n && !rc; k++)
		rc = now ? make_line(r, &found[k], &lines[k])
		         : copy_line(r, &r->in->lines[l->line0 + k], &lines[k]);
	if (l->mapping != PROFILE_NONE)
		mapping = r->sources[l->mapping].row;
	return rc ? rc
	          : profile_location(r->out, mapping, l->address, lines,
	                             (uint32_t)n, &r->locations[i]);
}

static int
copy_labels(struct renamer *r, const struct sample *s, struct label *out)
{
	int rc = s->nlabels > PROFILE_MAX_LABELS ? -E2BIG : 0;

	for (uint32_t i = 0; i < s->nlabels && !rc; i++) {
		out[i] = r->in->labels[s->label0 + i];
		rc = copy_string(r, out[i].key, &out[i].key);
		if (!rc)
			rc = copy_string(r, out[i].str, &out[i].str);
		if (!rc)
			rc = copy_string(r, out[i].unit, &out[i].unit);
	}
	return rc;
}

static bool
is_named(const struct profile *p, uint32_t location)
{
	const struct location *l = &p->locations[location];

	return l->nlines &&
	       p->functions[p->lines[l->line0].function].system_name;
}

static int
copy_sample(struct renamer *r, uint32_t i, struct quality *q)
{
	const struct sample *s = &r->in->samples[i];
	const int64_t *values = &r->in->values[(size_t)i * r->in->ntypes];
	struct label labels[PROFILE_MAX_LABELS];
	uint32_t stack[PROFILE_MAX_FRAMES], row;
	int64_t weight = r->in->ntypes ? values[0] : 0;
	int rc = s->nstack > PROFILE_MAX_FRAMES ? -E2BIG
	                                        : copy_labels(r, s, labels);

	for (uint32_t k = 0; k < s->nstack && !rc; k++) {
		stack[k] = r->locations[r->in->stack[s->stack0 + k]];
		profile_add(&q->frames, weight);
		if (is_named(r->out, stack[k]))
			profile_add(&q->symbolized, weight);
	}
	if (!rc)
		rc = profile_sample_row(r->out, stack, s->nstack, labels,
		                        s->nlabels, values, &row);
	return rc || row == i || !r->ask->keeps_rows ? rc : -EINVAL;
}

static int
copy_header(struct renamer *r)
{
	const struct profile *in = r->in;
	struct profile *out = r->out;
	size_t len;
	int rc = 0;

	for (uint32_t i = 0; i < in->ntypes && !rc; i++)
		rc = profile_type(
			out, strings_get(in->strings, in->types[i].type, &len),
			strings_get(in->strings, in->types[i].unit, &len));
	for (uint32_t i = 0; i < in->ncomments && !rc; i++)
		rc = profile_comment(
			out, strings_get(in->strings, in->comments[i], &len));
	rc = rc ?: copy_string(r, in->default_type, &out->default_type);
	rc = rc ?: copy_string(r, in->given_type, &out->given_type);
	rc = rc ?: copy_string(r, in->given_note, &out->given_note);
	rc = rc ?: copy_string(r, in->drop_frames, &out->drop_frames);
	rc = rc ?: copy_string(r, in->keep_frames, &out->keep_frames);
	rc = rc ?: copy_string(r, in->doc_url, &out->doc_url);
	rc = rc ?: copy_string(r, in->period_type.type, &out->period_type.type);
	rc = rc ?: copy_string(r, in->period_type.unit, &out->period_type.unit);
	out->period = in->period;
	out->time_ns = in->time_ns;
	out->duration_ns = in->duration_ns;
	return rc;
}

int
rename_by(const struct rename_ask *ask, const struct profile *in,
          struct profile **out, struct quality *quality)
{
	CLEANUP(renamer_done) struct renamer r = {.ask = ask, .in = in};
	struct quality q = {0};
	int rc = renamer_init(&r) ?: copy_header(&r);

	for (uint32_t i = 0; i < in->nmappings && !rc; i++) {
		open_source(&r, i, &q);
		rc = copy_mapping(&r, i);
	}
	for (uint32_t i = 0; i < in->nlocations && !rc; i++)
		rc = add_location(&r, i);
	for (uint32_t i = 0; i < in->nsamples && !rc; i++)
		rc = copy_sample(&r, i, &q);
	if (rc)
		return rc;
	*quality = q;
	*out = TAKE(r.out);
	return 0;
}

/* --- mappings ------------------------------------------------------------- */

void
rename_wanted(const struct profile *in, bool *wanted)
{
	for (uint32_t i = 0; i < in->nlocations; i++)
		if (in->locations[i].mapping != PROFILE_NONE &&
		    !profile_is_named(in, i))
			wanted[in->locations[i].mapping] = true;
}

/* Finds the bias by the one segment of code: a debug file has the addresses of
 * its program's segments, but not their places in the file. */
static int
bias_of_debug(const struct elf_image *elf, const struct mapping *m,
              uint64_t *out)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	const struct elf_segment *s, *code = NULL;

	for (uint32_t i = 0; (s = elf_segment(elf, PT_LOAD, i)); i++) {
		if (!(s->flags & PF_X))
			continue;
		if (code)
			return -ENOENT;
		code = s;
	}
	if (!code || ((code->vaddr + code->memsz + page) & ~page) -
	                             (code->vaddr & ~page) !=
	                     m->limit - m->start)
		return -ENOENT;
	*out = m->start - (code->vaddr & ~page);
	return 0;
}

int
rename_bias(const struct elf_image *elf, const struct mapping *m, uint64_t *out)
{
	*out = 0;
	for (uint32_t i = 0; i < elf->nsegments; i++)
		if (elf->segments[i].type == PT_LOAD &&
		    elf->segments[i].vaddr == m->start)
			return 0;
	if (!m->start && m->limit == UINT64_MAX)
		return 0;
	return elf_bias(elf, m->start, m->offset, PF_X, out)
	               ? bias_of_debug(elf, m, out)
	               : 0;
}

/* --- debug files ---------------------------------------------------------- */

struct elf_image *
rename_open_pushed(const struct rename_files *files, const char *wanted,
                   struct rename_pushed **out)
{
	for (uint32_t i = 0; *wanted && i < files->npushed; i++) {
		struct rename_pushed *from = &files->pushed[i];
		CLEANUP_ELF struct elf_image *e = NULL;
		CLEANUP_FD int fd = -1;
		int rc;

		if (from->refused || strcmp(from->wanted, wanted) != 0)
			continue;
		fd = fcntl(from->fd, F_DUPFD_CLOEXEC, 0);
		rc = fd < 0 ? -errno : elf_open_fd(fd, &e);
		if (rc == -ENOMEM || fd < 0)
			return NULL;
		if (!rc)
			TAKE_FD(fd);
		from->refused = rc || !elf_has_id(e, from->build_id) ||
		                !debug_file_names(e);
		if (!from->refused) {
			*out = from;
			return TAKE(e);
		}
	}
	return NULL;
}

struct debug_files {
	const struct host *host;
	const struct rename_files *others;
	struct elf_image **images; /* by mapping */
	uint32_t n;
};

static void
debug_files_done(struct debug_files *f)
{
	for (uint32_t i = 0; f->images && i < f->n; i++)
		elf_free(f->images[i]);
	free(f->images);
}

static bool
find_debug(void *arg, const struct profile *p, uint32_t mapping,
           struct rename_source *out)
{
	struct debug_files *f = arg;
	const char *text = profile_text(p, p->mappings[mapping].build_id);
	uint8_t id[HOST_BUILD_ID];
	uint32_t n = build_id_parse(text, id);

	*out = (struct rename_source){.elf = NULL};
	if (n)
		f->images[mapping] = debug_file_of_build_id(f->host, id, n);
	if (!f->images[mapping])
		f->images[mapping] =
			rename_open_pushed(f->others, text, &out->pushed);
	out->elf = f->images[mapping];
	return out->elf;
}

int
rename_profile(const struct host *host, struct symbols_cache *symbols,
               const struct rename_files *others, const struct profile *in,
               struct profile **out, struct quality *quality)
{
	CLEANUP(debug_files_done)
	struct debug_files files = {
		host, others, calloc(in->nmappings + 1, sizeof(*files.images)),
		in->nmappings};
	const struct rename_ask ask = {host,   symbols, find_debug,
	                               &files, true,    false};

	return files.images ? rename_by(&ask, in, out, quality) : -ENOMEM;
}

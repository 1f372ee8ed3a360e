/* Source lines around those that cost something. */
#include "base/clock.h"
#include "base/file.h"
#include "capture/naming/namer.h"
#include "parts.h"
#include "profile/kind.h"
#include "profile/source_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define AROUND         12 /* lines before and after one with cost */
#define MAX_TEXT_BYTES ((size_t)1 << 20) /* of one listing */
#define MAX_TRIES      4 /* processes that are asked for a file */
#define FOLDERS_UP     4 /* from a program, for a relative path */

struct wanted {
	uint32_t file; /* string of the profile */
	uint32_t line;
};

struct sources {
	const struct listing_ask *ask;
	const struct profile *p;
	struct listing *l;
	struct wanted *wanted; /* by file, then by line */
	uint32_t nwanted;
	uint32_t pid;      /* index of the process that had the last file */
	size_t text_bytes; /* so far */
};

static void
sources_done(struct sources *s)
{
	free(s->wanted);
}

/* --- which lines ---------------------------------------------------------- */

static int
by_place(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return x->file != y->file ? (x->file > y->file) - (x->file < y->file)
	                          : (x->line > y->line) - (x->line < y->line);
}

/* Chooses the files, the most expensive first. */
static uint32_t
choose_files(const struct sources *s, const struct source_lines *lines,
             uint32_t out[static LISTING_MAX_FILES])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < lines->n && n < LISTING_MAX_FILES; i++) {
		const struct source_line *row = &lines->items[i];
		uint32_t k = 0;

		if (!*profile_text(s->p, row->file) || row->line <= 0 ||
		    row->line > INT32_MAX)
			continue;
		while (k < n && out[k] != row->file)
			k++;
		if (k == n)
			out[n++] = row->file;
	}
	return n;
}

static int
choose_lines(struct sources *s, const struct source_lines *lines)
{
	s->wanted = calloc((size_t)lines->n + 1, sizeof(*s->wanted));
	if (!s->wanted)
		return -ENOMEM;
	for (uint32_t i = 0; i < lines->n; i++)
		if (lines->items[i].line > 0 &&
		    lines->items[i].line <= INT32_MAX)
			s->wanted[s->nwanted++] =
				(struct wanted){lines->items[i].file,
			                        (uint32_t)lines->items[i].line};
	qsort(s->wanted, s->nwanted, sizeof(*s->wanted), by_place);
	return 0;
}

/* --- reading a file ------------------------------------------------------- */

static int
ask_for(struct sources *s, const char *path, uint32_t pid, int *fd,
        uint32_t *changed_s)
{
	struct host_ask ask = {.op = HOST_SOURCE, .pid = s->ask->pids[pid]};

	if (strlen(path) >= sizeof(ask.path))
		return -ENAMETOOLONG;
	strcpy(ask.path, path);
	return host_fd_value(s->ask->host, &ask, fd, changed_s);
}

/* Reads a file through the process that had the last one, else through others.
 * Returns the outcome. */
static enum listing_state
read_source(struct sources *s, const char *path, struct buf *out,
            uint32_t *changed_s)
{
	CLEANUP_FD int fd = -1;
	int rc = -ENOENT;

	for (uint32_t i = 0; i < s->ask->npids && i < MAX_TRIES && fd < 0;
	     i++) {
		uint32_t at = (s->pid + i) % s->ask->npids;
		int is = ask_for(s, path, at, &fd, changed_s);

		if (!is)
			s->pid = at;
		else if (is != -ENOENT && is != -ESRCH)
			rc = is;
	}
	if (fd < 0)
		return rc == -ENOENT || rc == -ENOTDIR ? LISTING_MISSING
		                                       : LISTING_REFUSED;
	if (fd_read_all(fd, out) || memchr(buf_str(out), '\0', out->len))
		return LISTING_REFUSED;
	return LISTING_READ;
}

/* True if a text has a line with this number. */
static bool
has_line(const struct buf *text, uint32_t number)
{
	const char *p = buf_str(text), *end = p + text->len;
	uint32_t n = 0;

	while (p < end && n < number) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));

		n++;
		p = stop ? stop + 1 : end;
	}
	return n >= number;
}

/*
 * Reads a file with a relative path: that of a script is relative to the
 * working directory of its process, that of a program to where it was built,
 * which may be where it lies. A file that is too short is not the one that was
 * built.
 */
static enum listing_state
read_relative(struct sources *s, const char *path, const char *module,
              uint32_t last, struct buf *out, uint32_t *changed_s)
{
	CLEANUP_BUF struct buf at = BUF_INIT(BUF_MAX_SMALL);
	size_t n = strlen(module);

	for (int up = 0; up <= FOLDERS_UP; up++) {
		enum listing_state state = read_source(
			s, up ? buf_str(&at) : path, out, changed_s);

		if (state == LISTING_READ && has_line(out, last))
			return state;
		buf_clear(out);
		while (n && module[n - 1] != '/')
			n--;
		if (*module != '/' || !n)
			break;
		buf_clear(&at);
		buf_add(&at, module, n);
		buf_puts(&at, path);
		n--; /* its parent is next */
	}
	return LISTING_MISSING;
}

/* Returns the mapping of the first location with code of a file; PROFILE_NONE:
 * there is none. */
static uint32_t
mapping_of(const struct profile *p, uint32_t file)
{
	for (uint32_t i = 0; i < p->nlocations; i++) {
		const struct location *at = &p->locations[i];
		uint32_t k = 0;

		while (k < at->nlines &&
		       p->functions[p->lines[at->line0 + k].function].file !=
		               file)
			k++;
		if (k < at->nlines)
			return at->mapping;
	}
	return PROFILE_NONE;
}

/* Returns when the code of a mapping was built: when its program's file was
 * last changed; 0: not known. */
static int64_t
built_s(const struct sources *s, uint32_t mapping)
{
	const struct namer *n = s->ask->namer;
	const struct module *m =
		!n || mapping == PROFILE_NONE
			? NULL
			: n->modules->rows[list_module(n, s->p, mapping)];
	struct stat st;

	return m && m->elf && m->elf->fd >= 0 && !m->copied &&
	                       !fstat(m->elf->fd, &st)
	               ? st.st_mtime
	               : 0;
}

/* Returns when the process through which the last file was read started; 0:
 * not known. */
static int64_t
began_s(const struct sources *s)
{
	struct host_ask ask = {
		.op = HOST_USAGE, .count = 1, .list = {s->ask->pids[s->pid]}};
	CLEANUP_FREE struct host_reply *reply = malloc(sizeof(*reply));
	struct timespec since;

	if (!reply || host_answer(s->ask->host, &ask, reply) ||
	    reply->value != 1 || clock_gettime(CLOCK_BOOTTIME, &since))
		return 0;
	return clock_wall_ms() / MS_PER_S - since.tv_sec +
	       (int64_t)(reply->usage[0].began_ns / (uint64_t)NS_PER_S);
}

/* --- rows ----------------------------------------------------------------- */

/* Adds a line of the file; -E2BIG if there is no room. */
static int
add_line(struct sources *s, uint32_t number, const char *text, size_t n)
{
	struct listing_line row = {.number = number};
	int rc;

	if (n && text[n - 1] == '\r')
		n--;
	if (n > LISTING_MAX_TEXT)
		n = LISTING_MAX_TEXT;
	s->text_bytes += n;
	if (s->text_bytes > MAX_TEXT_BYTES)
		return -E2BIG;
	rc = strings_add(s->l->strings, text, n, &row.text);
	return rc ?: listing_line(s->l, &row);
}

/* Adds the lines of a text that are near one of wanted[n]. */
static int
add_lines(struct sources *s, const struct buf *text,
          const struct wanted *wanted, uint32_t n)
{
	const char *p = buf_str(text), *end = p + text->len;
	uint32_t at = 0;
	int rc = 0;

	for (uint32_t number = 1; p < end && !rc; number++) {
		const char *stop = memchr(p, '\n', (size_t)(end - p)) ?: end;

		while (at < n && wanted[at].line + AROUND < number)
			at++;
		if (at == n)
			break;
		if (number + AROUND >= wanted[at].line)
			rc = add_line(s, number, p, (size_t)(stop - p));
		p = stop + 1;
	}
	return rc;
}

static int
add_file(struct sources *s, uint32_t file)
{
	CLEANUP_BUF struct buf text = BUF_INIT((size_t)HOST_MAX_SOURCE + 1);
	const char *path = profile_text(s->p, file);
	const struct wanted *first = s->wanted;
	const uint32_t mapping = mapping_of(s->p, file);
	const char *build_id =
		mapping == PROFILE_NONE || kind_is_script(path)
			? ""
			: profile_text(s->p, s->p->mappings[mapping].build_id);
	uint32_t changed_s = 0, n = 0;
	const char *module =
		mapping == PROFILE_NONE
			? ""
			: profile_text(s->p, s->p->mappings[mapping].file);
	struct listing_file row = {0};
	int64_t made_s = built_s(s, mapping);
	int rc = strings_add(s->l->strings, path, strlen(path), &row.path)
	                 ?: strings_add(s->l->strings, build_id,
	                                strlen(build_id), &row.build_id);

	while (first < s->wanted + s->nwanted && first->file != file)
		first++;
	while (first + n < s->wanted + s->nwanted && first[n].file == file)
		n++;
	row.state = *path == '/' || !n
	                    ? read_source(s, path, &text, &changed_s)
	                    : read_relative(s, path, module, first[n - 1].line,
	                                    &text, &changed_s);
	if (row.state == LISTING_READ &&
	    (int64_t)changed_s > (made_s ?: began_s(s)))
		row.state = LISTING_NEWER;
	rc = rc ?: listing_file(s->l, &row);
	if (!rc && row.state <= LISTING_NEWER)
		rc = add_lines(s, &text, first, n);
	return rc;
}

int
list_source(const struct listing_ask *ask, const struct profile *p,
            uint32_t type, struct listing *l)
{
	CLEANUP(sources_done) struct sources s = {.ask = ask, .p = p, .l = l};
	CLEANUP_SOURCE_LINES struct source_lines lines = {0};
	uint32_t files[LISTING_MAX_FILES], n = 0;
	int rc = source_lines_find(p, type, NULL, &lines)
	                 ?: choose_lines(&s, &lines);

	if (!rc && ask->npids)
		n = choose_files(&s, &lines, files);
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = add_file(&s, files[i]);
	return rc == -E2BIG ? 0 : rc;
}

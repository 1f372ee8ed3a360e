#include "lib/interp_image.h"

#include "capture/host/memory.h"
#include "capture/interp/interp_codes.h"
#include "capture/interp/walk.h"

#include <errno.h>
#include <string.h>

/* Recorded instead of the executable: struct interp_image, in a layout that
 * does not change. */
struct addresses {
	uint64_t language, version, eval_start, eval_end, roots[INTERP_ROOTS];
};

#define LANGUAGE(id, name) extern const struct language name##_language;
#include "capture/interp/languages.def"
#undef LANGUAGE

static const struct language *const languages[] = {
#define LANGUAGE(id, name) [LANGUAGE_##id] = &name##_language,
#include "capture/interp/languages.def"
#undef LANGUAGE
};

DEFINE_CLEANUP(struct interp_codes *, interp_codes_free)

int
interp_image_begin(struct image *m, const struct interp_image *of,
                   uint64_t bias)
{
	struct addresses *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	*a = (struct addresses){of->language->id,
	                        of->version,
	                        of->eval_start,
	                        of->eval_end,
	                        {0}};
	memcpy(a->roots, of->roots, sizeof(a->roots));
	m->head = (struct image_head){.bias = bias, .elf_bytes = sizeof(*a)};
	m->elf = (uint8_t *)a;
	return 0;
}

static void
put_frames(const struct interp_codes *codes, const struct interp_stack *s,
           const uint64_t *places, struct buf *out)
{
	struct interp_name name;

	for (uint32_t i = 0; i < s->n; i++) {
		if (interp_name(codes, places[i], &name))
			buf_addf(out, "\t%s %s:%u\n", name.name, name.file,
			         name.line);
		if (s->frames[i].mark & INTERP_ENTRY)
			buf_puts(out, "\t--\n");
	}
}

static int
put_thread(const struct interp_space *space, struct interp_codes *codes,
           const struct interp_threads *t, uint64_t native, struct buf *out)
{
	const struct language *language = space->image->language;
	struct interp_slot slot = {.tid = 1};
	struct interp_slot found = {.tid = 1};
	struct interp_list list;
	struct interp_stack s = {.n = 0};
	uint64_t places[INTERP_MAX_FRAMES];
	int rc;

	if (!interp_threads_find(t, native, &slot))
		return -ESRCH;
	rc = language->list(space, &list);
	if (rc)
		return rc;
	if (!walk_find(language->find, space->memory, &list, native, 0,
	               &found) ||
	    found.head != slot.head)
		return -ENOENT;
	s.end = walk_frames(language->step, space->memory, &slot, &s);
	if (s.end == INTERP_FAULT)
		return -EFAULT;
	rc = interp_places(codes, space->memory->pid, space, &s, places);
	if (rc)
		return rc;
	buf_puts(out, "thread\n");
	put_frames(codes, &s, places, out);
	return buf_err(out);
}

static int
put_threads(const struct interp_space *space, struct buf *out)
{
	CLEANUP(interp_codes_free_ptr)
	struct interp_codes *codes = interp_codes_new();
	CLEANUP(interp_threads_done) struct interp_threads t = {0};
	int rc = codes ? space->image->language->attach(space, &t) : -ENOMEM;

	t.language = space->image->language->id;
	for (uint32_t i = 0; i < t.n && !rc; i++)
		rc = put_thread(space, codes, &t, t.rows[i].native, out);
	return rc;
}

int
interp_image_frames(const struct image *m, const struct host *host, int32_t pid,
                    struct buf *out)
{
	CLEANUP(memory_spare_done) struct memory_spare spare = {.n = 0};
	const struct memory memory = {
		.host = host, .pid = pid, .spare = &spare};
	struct addresses a;
	struct interp_image image;
	const struct interp_space space = {.memory = &memory,
	                                   .image = &image,
	                                   .bias = m->head.bias,
	                                   .now_ns = 1};

	if (m->head.elf_bytes != sizeof(a))
		return -EBADMSG;
	memcpy(&a, m->elf, sizeof(a));
	if (a.language >= LANGUAGES)
		return -EBADMSG;
	image = (struct interp_image){.language = languages[a.language],
	                              .version = (uint32_t)a.version,
	                              .eval_start = a.eval_start,
	                              .eval_end = a.eval_end};
	memcpy(image.roots, a.roots, sizeof(image.roots));
	return put_threads(&space, out);
}

#include "lib/interp_image.h"

#include "capture/host/memory.h"
#include "capture/interp/interp_codes.h"
#include "capture/interp/walk.h"

#include <errno.h>
#include <string.h>

/* Recorded instead of the executable: struct interp_image, in a layout that
 * does not change. If the language finds threads only by their registers, one
 * thread's registers follow. */
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
                   uint64_t bias, const struct walk_self *self)
{
	const size_t n = sizeof(struct addresses) + (self ? sizeof(*self) : 0);
	struct addresses *a = calloc(1, n);

	if (!a)
		return -ENOMEM;
	if (self)
		memcpy(a + 1, self, sizeof(*self));
	*a = (struct addresses){of->language->id,
	                        of->version,
	                        of->eval_start,
	                        of->eval_end,
	                        {0}};
	memcpy(a->roots, of->roots, sizeof(a->roots));
	m->head = (struct image_head){.bias = bias, .elf_bytes = n};
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

/* Writes the frames of a thread. self is NULL if the process has a list of its
 * threads. */
static int
put_thread(const struct interp_space *space, struct interp_codes *codes,
           const struct interp_threads *t, uint64_t native,
           const struct walk_self *self, struct buf *out)
{
	const struct language *language = space->image->language;
	struct interp_slot slot = {.tid = 1};
	struct interp_list list;
	struct interp_stack s = {.n = 0}, room;
	const struct interp_stack *arranged;
	uint64_t places[INTERP_MAX_FRAMES];
	int rc = language->list(space, &list);

	if (rc)
		return rc;
	slot.layout = list.layout;
	slot.hop = list.hop;
	memcpy(slot.own, list.own, sizeof(slot.own));
	if (!walk_find(language->find, space->memory, &list, native, self,
	               &slot))
		return -ENOENT;
	if (!self) {
		const uint64_t head = slot.head;

		if (!interp_threads_find(t, native, &slot) || slot.head != head)
			return -ESRCH;
	}
	s.end = walk_frames(language->step, space->memory, &slot, self, &s);
	if (s.end == INTERP_FAULT)
		return -EFAULT;
	arranged = interp_arrange(&s, &room);
	rc = interp_places(codes, space->memory->pid, space, arranged, places);
	if (rc)
		return rc;
	buf_puts(out, "thread\n");
	put_frames(codes, arranged, places, out);
	return buf_err(out);
}

/* State of put_waiting(), which gets the tasks that wait without a thread. */
struct waiting {
	const struct interp_space *space;
	struct interp_codes *codes;
	struct buf *out;
};

static int
put_waiting(void *arg, const struct interp_stack *s)
{
	const struct waiting *w = arg;
	uint64_t places[INTERP_MAX_FRAMES];
	int rc = interp_places(w->codes, w->space->memory->pid, w->space, s,
	                       places);

	if (rc)
		return rc;
	buf_puts(w->out, "waiting\n");
	put_frames(w->codes, s, places, w->out);
	return buf_err(w->out);
}

/* Reads pages, as a snapshot does. */
static int
put_all_waiting(const struct interp_space *space, struct interp_codes *codes,
                struct buf *out)
{
	CLEANUP_FREE struct memory_pages *pages = calloc(1, sizeof(*pages));
	CLEANUP(memory_spare_done)
	struct memory_spare spare = {.n = 0, .pages = pages};
	const struct memory memory = {space->memory->host, space->memory->pid,
	                              &spare};
	struct interp_space by_page = *space;
	struct waiting w = {&by_page, codes, out};

	by_page.memory = &memory;
	if (!pages)
		return -ENOMEM;
	/* Most recordings contain neither tasks nor the pointers to them. */
	(void)space->image->language->waiting(&by_page, put_waiting, &w);
	return buf_err(out);
}

static int
put_threads(const struct interp_space *space, const struct walk_self *self,
            struct buf *out)
{
	CLEANUP(interp_codes_free_ptr)
	struct interp_codes *codes = interp_codes_new();
	CLEANUP(interp_threads_done) struct interp_threads t = {0};
	int rc = codes ? 0 : -ENOMEM;

	if (!rc && self)
		return put_thread(space, codes, &t, 0, self, out);
	if (!rc)
		rc = space->image->language->attach(space, &t);
	t.language = space->image->language->id;
	for (uint32_t i = 0; i < t.n && !rc; i++)
		rc = put_thread(space, codes, &t, t.rows[i].native, NULL, out);
	if (!rc && space->image->language->waiting)
		rc = put_all_waiting(space, codes, out);
	return rc;
}

int
interp_image_frames(const struct image *m, const struct host *host, int32_t pid,
                    struct buf *out)
{
	CLEANUP(memory_spare_done) struct memory_spare spare = {.n = 0};
	const struct memory memory = {
		.host = host, .pid = pid, .spare = &spare};
	struct walk_self self = {.pc = 0};
	struct addresses a;
	struct interp_image image;
	const struct interp_space space = {.memory = &memory,
	                                   .image = &image,
	                                   .bias = m->head.bias,
	                                   .now_ns = 1};

	if (m->head.elf_bytes == sizeof(a) + sizeof(self))
		memcpy(&self, m->elf + sizeof(a), sizeof(self));
	else if (m->head.elf_bytes != sizeof(a))
		return -EBADMSG;
	memcpy(&a, m->elf, sizeof(a));
	if (a.language >= LANGUAGES)
		return -EBADMSG;
	image = (struct interp_image){.language = languages[a.language],
	                              .version = (uint32_t)a.version,
	                              .eval_start = a.eval_start,
	                              .eval_end = a.eval_end};
	memcpy(image.roots, a.roots, sizeof(image.roots));
	return put_threads(&space, self.pc ? &self : NULL, out);
}

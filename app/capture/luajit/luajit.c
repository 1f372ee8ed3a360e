/* Lua as a language that an interpreter runs. */
#include "luajit.h"

#include <errno.h>
#include <string.h>

static int
recognise(const struct elf_image *elf, struct interp_image *out)
{
	struct luajit_image image;
	int rc = luajit_image(elf, &image);

	if (rc)
		return rc;
	*out = (struct interp_image){
		.eval_start = image.start,
		.eval_end = image.end,
		.entry_start = image.entry,
		.entry_end = image.no_run,
		.no_run = image.no_run,
		.inner_only = true,
		.roots = {[LUAJIT_DISTANCE] = image.distance,
	                  [LUAJIT_CURRENT] = image.state},
	};
	return 0;
}

static int
list(const struct interp_space *space, struct interp_list *out)
{
	const struct interp_image *image = space->image;

	*out = (struct interp_list){
		.language = LANGUAGE_LUAJIT,
		.layout = (uint16_t)(image->roots[LUAJIT_CURRENT] / 8),
		.hop = INTERP_HERE,
		.own = {image->eval_start + space->bias,
	                (image->eval_end - image->eval_start) |
	                        image->roots[LUAJIT_DISTANCE] << 32},
	};
	return 0;
}

/* A thread's state is found when it is interrupted, and not before. */
static int
attach(const struct interp_space *space, struct interp_threads *out)
{
	(void)space;
	(void)out;
	return -ENOENT;
}

/* --- functions ------------------------------------------------------------ */

/* If any of these differs, it is another prototype. */
struct head {
	uint64_t chunk, lines;
	uint32_t size, first_line, nlines;
	uint32_t named; /* 0: a caller may give it a name */
};
_Static_assert(sizeof(struct head) <= INTERP_CODE_HEAD, "a head");

static struct head
head_of(const struct luajit_proto *p)
{
	return (struct head){.chunk = p->chunk,
	                     .lines = p->lines,
	                     .size = p->size,
	                     .first_line = p->first_line,
	                     .nlines = p->nlines};
}

static int
read_proto(const struct memory *m, uint64_t at, struct luajit_proto *out)
{
	uint8_t bytes[LUAJIT_PROTO];
	int rc = memory_copy(m, at, bytes, sizeof(bytes));

	if (rc)
		return rc == -EFAULT ? -ESTALE : rc;
	return luajit_proto(at, bytes, out) ? 0 : -ESTALE;
}

/* Keeps a prototype if it is new or differs from the one before.
 *   Shape    bytes: NULL: it could not be read; caller: NULL: not known */
static int
keep(struct interp_codes *c, const struct interp_space *space, uint32_t i,
     uint64_t at, const uint8_t *bytes, const struct luajit_call *caller)
{
	struct interp_code *code = interp_code(c, i);
	struct luajit_proto p, by;
	struct head head;
	int rc = bytes && luajit_proto(at, bytes, &p) ? 0 : -ESTALE;

	head = rc ? (struct head){0} : head_of(&p);
	if (!rc && !interp_code_is_same(code, &head, sizeof(head))) {
		bool known = caller &&
		             !read_proto(space->memory, caller->proto, &by);

		rc = luajit_function(space->memory, c, &p, known ? &by : NULL,
		                     known ? caller->next : 0, &head.named,
		                     &code->function);
	}
	return interp_code_end(c, i, space, &head, sizeof(head),
	                       rc == -EFAULT ? -ESTALE : rc);
}

static int
read_all(struct interp_codes *c, const struct interp_space *space,
         const struct interp_unread *rows, uint32_t n)
{
	struct memory_piece pieces[INTERP_MAX_FRAMES];
	CLEANUP(memory_batch_done) struct memory_batch batch = {.n = 0};
	int rc;

	for (uint32_t i = 0; i < n; i++)
		pieces[i] = (struct memory_piece){.addr = rows[i].address,
		                                  .len = LUAJIT_PROTO};
	rc = memory_read(space->memory, pieces, n, &batch);
	for (uint32_t i = 0; i < n && !rc; i++) {
		const struct interp_frame *f = rows[i].caller;
		const struct luajit_call caller = {f ? f->code : 0,
		                                   f ? f->instr : 0};

		rc = keep(c, space, rows[i].code, rows[i].address,
		          pieces[i].got == LUAJIT_PROTO ? pieces[i].p : NULL,
		          caller.proto ? &caller : NULL);
	}
	return rc;
}

static bool
is_named(const struct interp_code *code)
{
	struct head head;

	memcpy(&head, code->head, sizeof(head));
	return head.named;
}

/* Returns the place of the instruction before `next`. */
static uint64_t
place_in(const struct interp_code *code, uint64_t proto, uint64_t next)
{
	struct luajit_proto p = {.at = proto};
	struct head head;

	memcpy(&head, code->head, sizeof(head));
	p.size = head.size;
	return interp_place(code->function, luajit_position(&p, next));
}

int
luajit_place(struct interp_codes *c, const struct memory *m, uint64_t now_ns,
             const struct luajit_call *call, const struct luajit_call *caller,
             uint64_t *out)
{
	const struct interp_image image = {.language = &luajit_language};
	const struct interp_space space = {
		.memory = m, .image = &image, .now_ns = now_ns};
	uint8_t bytes[LUAJIT_PROTO];
	struct interp_code *code;
	uint32_t i;
	int rc = interp_code_find(c, m->pid, call->proto, &i);

	if (!rc && interp_code_is_old(interp_code(c, i), now_ns))
		rc = keep(c, &space, i, call->proto,
		          memory_copy(m, call->proto, bytes, sizeof(bytes))
		                  ? NULL
		                  : bytes,
		          caller);
	if (rc)
		return rc;
	code = interp_code(c, i);
	*out = place_in(code, call->proto, call->next);
	if (!caller && !is_named(code)) /* its caller may be known later */
		code->checked_ns = 0;
	return 0;
}

static int
place(const struct interp_code *code, const struct interp_frame *f,
      uint64_t *out)
{
	*out = f->mark & LUAJIT_IN_TRACE ? INTERP_NO_PLACE
	                                 : place_in(code, f->code, f->instr);
	return 0;
}

const struct language luajit_language = {
	.id = LANGUAGE_LUAJIT,
	.in_thread = true,
	.recognise = recognise,
	.list = list,
	.attach = attach,
	.find = luajit_find,
	.step = luajit_step,
	.read = read_all,
	.place = place,
	.line = luajit_line,
};

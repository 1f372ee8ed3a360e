/*
 * The memory of a process that pretends to be an interpreter: a row of
 * versions, a stack of up to eight frames, then the bytes from BASE on.
 */
#include "capture/interp/interp_codes.h"
#include "capture/luajit/luajit.h"
#include "capture/perl/perl.h"
#include "capture/php/php.h"
#include "capture/python/python.h"
#include "capture/ruby/ruby.h"
#include "lib/memory_image.h"

#include <string.h>

#define BASE   UINT64_C(0x7f0000000000)
#define FRAMES 8

struct head {
	uint64_t version; /* a row of versions */
	struct interp_frame frames[FRAMES];
};

static const struct version {
	const struct language *language;
	uint32_t version;
	bool has_variables; /* Perl without threads */
} versions[] = {
	{&python_language, 11, false},
	{&python_language, 12, false},
	{&python_language, 13, false},
	{&ruby_language, RUBY_31, false},
	{&php_language, PHP_API_20220829, false},
	{&ruby_language, RUBY_33, false},
	{&ruby_language, RUBY_27, false},
	{&perl_language, PERL_5_36, false},
	{&perl_language, PERL_5_32, false},
	{&perl_language, PERL_5_36, true},
	{&luajit_language, 0, false},
};

static volatile size_t sink; /* so that no read is optimised away */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
read_names(const struct interp_codes *c, const uint64_t *places)
{
	struct interp_name name;

	for (size_t i = 0; i < FRAMES; i++)
		if (interp_name(c, places[i], &name))
			sink += strlen(name.name) + strlen(name.file) +
			        name.line;
}

static void
read_stack(const struct interp_space *space, const struct head *head)
{
	struct interp_codes *c = interp_codes_new();
	struct interp_stack s = {.n = FRAMES};
	uint64_t places[FRAMES];

	memcpy(s.frames, head->frames, sizeof(head->frames));
	if (c && !interp_places(c, 1, space, &s, places))
		read_names(c, places);
	interp_codes_free(c);
}

static void
read_threads(const struct interp_space *space)
{
	const struct language *language = space->image->language;
	CLEANUP(interp_threads_done) struct interp_threads t = {0};
	struct interp_slot slot = {.tid = 1};
	struct interp_list list;
	struct interp_stack s = {.n = 0};
	/* a thread that interprets Lua */
	const struct walk_self self = {.pc = BASE + 16,
	                               .dx = BASE + 0x400,
	                               .bx = BASE + 0x300,
	                               .r14 = BASE + 0x200};

	if (!language->attach(space, &t))
		sink += interp_threads_find(&t, 1, &slot);
	if (!language->list(space, &list) &&
	    walk_find(language->find, space->memory, &list, 1, &self, &slot)) {
		slot.layout = list.layout;
		slot.hop = list.hop;
		memcpy(slot.own, list.own, sizeof(slot.own));
		sink += walk_frames(language->step, space->memory, &slot, &self,
		                    &s);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct head head;
	struct memory_image image = {.base = BASE};
	struct host host = memory_image_host(&image);
	static struct memory_spare spare; /* for all inputs */
	const struct memory memory = {&host, 1, &spare};
	struct interp_image interpreter = {.eval_end = 0x100,
	                                   .roots = {0, 0x100, 0x200, 0x300}};
	const struct interp_space space = {&memory, &interpreter, BASE, 1};
	const struct version *v;

	if (n < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	image.bytes = data + sizeof(head);
	image.n = n - sizeof(head);
	v = &versions[head.version % (sizeof(versions) / sizeof(versions[0]))];
	interpreter.language = v->language;
	interpreter.version = v->version;
	if (v->has_variables)
		interpreter.roots[PERL_THREAD_KEY] = 0;
	read_stack(&space, &head);
	read_threads(&space);
	return 0;
}

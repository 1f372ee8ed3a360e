#include "memory_sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NOTES ((size_t)4 << 20)
#define OWNER     "stapsdt"
#define PROVIDER  "otel_memory"
#define TYPE      3

/* The beginning of a note's description; three strings follow: the provider,
 * the probe's name and its arguments. */
struct description {
	uint64_t at;        /* vaddr of the nop, */
	uint64_t base;      /* if .stapsdt.base has this one */
	uint64_t semaphore; /* vaddr; 0: none */
};

/* --- arguments ------------------------------------------------------------ */

/* Reads the name of a general register, whichever part of it is named. */
static bool
read_register(const char **at, uint8_t *out)
{
	static const char names[][3] = {"ax", "cx", "dx", "bx",
	                                "sp", "bp", "si", "di"};
	const char *s = *at;
	char *end;

	if (*s++ != '%')
		return false;
	if (*s == 'r' && s[1] >= '0' && s[1] <= '9') {
		unsigned long n = strtoul(s + 1, &end, 10);

		*out = (uint8_t)n;
		*at = end + (*end && strchr("dwb", *end) ? 1 : 0);
		return n >= 8 && n <= 15;
	}
	if (*s == 'r' || *s == 'e')
		s++;
	for (uint8_t i = 0; i < ARRAY_LEN(names); i++) {
		bool is = !strncmp(s, names[i], 2);
		/* al, bl, cl, dl */
		bool is_low = i < 4 && s[0] == names[i][0] && s[1] == 'l';

		if (!is && !is_low)
			continue;
		*out = i;
		/* sil, dil, spl, bpl */
		*at = s + 2 + (is && i >= 4 && s[2] == 'l');
		return true;
	}
	return false;
}

/* Reads a number of 32 bits; without digits it is 0. */
static bool
read_number(const char **at, int32_t *out)
{
	char *end;
	long long n = strtoll(*at, &end, 0);

	*at = end;
	*out = (int32_t)n;
	return n >= INT32_MIN && n <= INT32_MAX;
}

/*
 * Reads an argument: its size in bytes, negative if it is signed, then a
 * constant, a register, or memory at a register plus an offset. Operands with
 * an index or a symbol are not understood: compilers pass three plain arguments
 * without them.
 *   Shape    "8@%rdi", "-4@$12", "8@-16(%rbp)"
 */
static bool
read_argument(const char **at, struct allocs_argument *out)
{
	char *end;
	long bytes = strtol(*at, &end, 10);

	*out = (struct allocs_argument){
		.bytes = (uint8_t)labs(bytes),
		.is_signed = bytes < 0,
	};
	if ((labs(bytes) != 1 && labs(bytes) != 2 && labs(bytes) != 4 &&
	     labs(bytes) != 8) ||
	    *end != '@')
		return false;
	*at = end + 1;
	if (**at == '$') {
		++*at;
		out->from = ALLOCS_CONSTANT;
		if (!read_number(at, &out->plus))
			return false;
	} else if (**at == '%') {
		out->from = ALLOCS_REGISTER;
		if (!read_register(at, &out->reg))
			return false;
	} else {
		out->from = ALLOCS_MEMORY;
		if (!read_number(at, &out->plus) || *(*at)++ != '(' ||
		    !read_register(at, &out->reg) || *(*at)++ != ')')
			return false;
	}
	if (**at && **at != ' ')
		return false;
	*at += strspn(*at, " ");
	return true;
}

static bool
read_arguments(const char *text, struct allocs_place *to)
{
	struct allocs_sampled *s = &to->sampled;

	return read_argument(&text, &s->memory) &&
	       (to->releases || (read_argument(&text, &s->bytes) &&
	                         read_argument(&text, &s->weight))) &&
	       !*text;
}

/* --- notes ---------------------------------------------------------------- */

/* Splits the strings of a description; false unless there are three. */
static bool
split(const char *p, size_t n, const char *strings[static 3])
{
	for (int i = 0; i < 3; i++) {
		const char *end = memchr(p, '\0', n);

		if (!end)
			return false;
		strings[i] = p;
		n -= (size_t)(end + 1 - p);
		p = end + 1;
	}
	return true;
}

/* Adds the probe of a note, if the contract defines it. */
static int
add(const struct elf_image *e, const uint8_t *p, size_t n,
    struct memory_sampler *to)
{
	const struct elf_section *base = elf_section(e, ".stapsdt.base");
	struct allocs_place place = {.is_static = true};
	struct description d;
	const char *strings[3];
	uint64_t left, move;

	if (n < sizeof(d))
		return 0;
	memcpy(&d, p, sizeof(d));
	if (!split((const char *)p + sizeof(d), n - sizeof(d), strings) ||
	    strcmp(strings[0], PROVIDER) != 0)
		return 0;
	place.releases = !strcmp(strings[1], "free");
	if (!place.releases && strcmp(strings[1], "alloc") != 0)
		return 0;
	if (to->n == ALLOCS_MOST_STATIC)
		return -E2BIG;
	/* The file may have been moved after it was linked. */
	move = base ? base->vaddr - d.base : 0;
	if (!read_arguments(strings[2], &place) ||
	    !elf_offset_of(e, d.at + move, &place.offset, &left) ||
	    (d.semaphore &&
	     !elf_offset_of(e, d.semaphore + move, &place.counter, &left)))
		return -ENOENT;
	to->releases |= place.releases;
	to->places[to->n++] = place;
	return 0;
}

static size_t
padded(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

static int
read_notes(const struct elf_image *e, const uint8_t *p, size_t n,
           struct memory_sampler *out)
{
	int rc = 0;

	while (n >= sizeof(Elf64_Nhdr) && !rc) {
		Elf64_Nhdr head;
		size_t name, all;

		memcpy(&head, p, sizeof(head));
		p += sizeof(head);
		n -= sizeof(head);
		name = padded(head.n_namesz);
		all = name + padded(head.n_descsz);
		if (name > n || all > n)
			return -EIO;
		if (head.n_type == TYPE && head.n_namesz == sizeof(OWNER) &&
		    !memcmp(p, OWNER, sizeof(OWNER)))
			rc = add(e, p + name, head.n_descsz, out);
		p += all;
		n -= all;
	}
	return rc;
}

int
memory_sampler_find(const struct elf_image *e, struct memory_sampler *out)
{
	const struct elf_section *notes = elf_section(e, ".note.stapsdt");
	struct memory_sampler found = {0};
	CLEANUP_FREE uint8_t *bytes = NULL;
	bool allocates = false;
	void *p;
	int rc = notes && e->machine == EM_X86_64 ? 0 : -ENOENT;

	if (!rc)
		rc = elf_copy(e, notes->offset, notes->size, MAX_NOTES, &p);
	if (rc)
		return rc;
	bytes = p;
	rc = read_notes(e, bytes, notes->size, &found);
	for (uint32_t i = 0; i < found.n; i++)
		allocates |= !found.places[i].releases;
	if (!rc && !allocates)
		rc = -ENOENT;
	if (!rc)
		*out = found;
	return rc;
}

#include "cfi.h"

#include <errno.h>

#define DEBUG_CIE 0xffffffffu /* in .debug_frame the mark of a CIE */

bool
cfi_next(struct cursor *section, struct cursor *entry)
{
	uint64_t n = take(section, 4);

	if (section->bad || !n || n > section->end - section->at)
		return false;
	*entry = *section;
	entry->end = section->at + (size_t)n;
	section->at = entry->end;
	return true;
}

/* What the letters of an augmentation stand for; unknown ones end it, since
 * the length that comes first tells where the program begins. */
static void
read_augmentation(struct cursor *c, const char *letters, struct cfi_cie *out)
{
	uint8_t encoding;

	for (; *letters && !c->bad; letters++) {
		switch (*letters) {
		case 'R':
			out->encoding = (uint8_t)take(c, 1);
			break;
		case 'P':
			encoding = (uint8_t)take(c, 1);
			if (encoding != PTR_OMIT)
				take_form(c, encoding & PTR_FORM);
			break;
		case 'L':
			take(c, 1);
			break;
		case 'S':
			out->signal = true;
			break;
		case 'B': /* aarch64: addresses are signed with key B */
			break;
		default:
			return;
		}
	}
}

static bool
read_letters(struct cursor *c, char out[CFI_MAX_AUGMENT])
{
	for (unsigned i = 0; i < CFI_MAX_AUGMENT; i++)
		if (!(out[i] = (char)take(c, 1)))
			return !c->bad;
	return false;
}

static bool
read_alignments(struct cursor *c, unsigned version, struct cfi_cie *out)
{
	if (version == 4)
		c->bad |= take(c, 1) != 8 || take(c, 1); /* no segments */
	out->code_align = take_leb(c);
	out->data_align = take_sleb(c);
	out->ra = (uint32_t)(version == 1 ? take(c, 1) : take_leb(c));
	return !c->bad && out->ra < CFI_REGS;
}

static bool
read_cie(const struct cfi_section *s, size_t at, struct cfi_cie *out)
{
	struct cursor all = {.in = &s->bytes, .at = at, .end = s->bytes.size};
	struct cursor c, extra;
	char letters[CFI_MAX_AUGMENT];
	unsigned version;

	*out = (struct cfi_cie){.encoding = PTR_ABS};
	if (at > all.end || !cfi_next(&all, &c))
		return false;
	if (take(&c, 4) != (s->debug ? DEBUG_CIE : 0))
		return false;
	version = (unsigned)take(&c, 1);
	if (!read_letters(&c, letters) ||
	    (version != 1 && version != 3 && version != 4) ||
	    !read_alignments(&c, version, out))
		return false;
	out->augmented = *letters == 'z';
	if (!out->augmented && *letters)
		return false;
	if (out->augmented) {
		extra = c;
		extra.at = take_block(&c, take_leb(&c));
		extra.end = c.at;
		read_augmentation(&extra, letters + 1, out);
		c.bad |= extra.bad;
	}
	out->program = c.at;
	out->end = c.end;
	return !c.bad;
}

/* Where the CIE of an entry begins, given the field that tells. */
static bool
find_cie(const struct cfi_section *s, size_t field, uint64_t value, size_t *at)
{
	if (s->debug) {
		*at = (size_t)value;
		return value != DEBUG_CIE;
	}
	*at = field - (size_t)value;
	return value && value <= field; /* 0: this is a CIE */
}

int
cfi_entry_read(const struct cfi_section *s, size_t at, struct cfi_entry *out)
{
	struct cursor all = {.in = &s->bytes, .at = at, .end = s->bytes.size};
	struct cursor c;
	size_t field, cie;

	if (at > all.end || !cfi_next(&all, &c))
		return -EBADMSG;
	field = c.at;
	if (!find_cie(s, field, take(&c, 4), &cie) || c.bad ||
	    !read_cie(s, cie, &out->cie))
		return -EBADMSG;
	out->start =
		take_pointer(&c, out->cie.encoding & (uint8_t)~PTR_INDIRECT);
	out->end = out->start + take_form(&c, out->cie.encoding & PTR_FORM);
	if (out->cie.augmented)
		take_block(&c, take_leb(&c));
	out->program = c.at;
	out->program_end = c.end;
	return c.bad || out->end <= out->start ? -EBADMSG : 0;
}

/*
 * Bounded reading of DWARF: past the end of a cursor everything reads as zero
 * and bad stays set, so callers check once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes of an image, and the address they are loaded at. */
struct cfi_bytes {
	uint64_t vaddr;
	size_t size; /* bytes */
	uint8_t *bytes;
};

struct cfi_cursor {
	const struct cfi_bytes *in;
	size_t at, end; /* end: at most in->size */
	bool bad;
};

/* Pointer encodings; Source: LSB 5, 10.5.1. */
enum {
	PTR_FORM = 0x0f,
	PTR_ABS = 0x00,
	PTR_UDATA2 = 0x02,
	PTR_UDATA4 = 0x03,
	PTR_UDATA8 = 0x04,
	PTR_SDATA2 = 0x0a,
	PTR_SDATA4 = 0x0b,
	PTR_SDATA8 = 0x0c,
	PTR_PCREL = 0x10,
	PTR_INDIRECT = 0x80,
	PTR_OMIT = 0xff,
};

static inline uint64_t
take(struct cfi_cursor *c, size_t n)
{
	uint64_t v = 0;

	if (c->bad || n > c->end - c->at) {
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->in->bytes + c->at, n);
	c->at += n;
	return v;
}

/* Reads n bytes of two's complement. */
static inline uint64_t
take_signed(struct cfi_cursor *c, size_t n)
{
	unsigned unused = 64 - 8 * (unsigned)n;

	return (uint64_t)((int64_t)(take(c, n) << unused) >> unused);
}

/* Skips n bytes; returns the offset of the first. */
static inline size_t
take_block(struct cfi_cursor *c, uint64_t n)
{
	size_t at = c->at;

	if (c->bad || n > c->end - c->at)
		c->bad = true;
	else
		c->at += (size_t)n;
	return at;
}

static inline uint64_t
take_leb_as(struct cfi_cursor *c, bool is_signed)
{
	uint64_t v = 0, byte;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		byte = take(c, 1);
		v |= (byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (is_signed && byte & 0x40 && shift < 57)
			v |= ~UINT64_C(0) << (shift + 7);
		return v;
	}
	c->bad = true;
	return 0;
}

static inline uint64_t
take_leb(struct cfi_cursor *c)
{
	return take_leb_as(c, false);
}

static inline int64_t
take_sleb(struct cfi_cursor *c)
{
	return (int64_t)take_leb_as(c, true);
}

static inline uint64_t
take_form(struct cfi_cursor *c, uint8_t form)
{
	switch (form) {
	case PTR_UDATA2:
		return take(c, 2);
	case PTR_UDATA4:
		return take(c, 4);
	case PTR_SDATA2:
		return take_signed(c, 2);
	case PTR_SDATA4:
		return take_signed(c, 4);
	case PTR_ABS:
	case PTR_UDATA8:
	case PTR_SDATA8:
		return take(c, 8);
	default:
		c->bad = true;
		return 0;
	}
}

static inline uint64_t
take_pointer(struct cfi_cursor *c, uint8_t encoding)
{
	uint64_t here = c->in->vaddr + c->at;
	uint64_t v = take_form(c, encoding & PTR_FORM);

	switch (encoding & ~PTR_FORM) {
	case 0:
		return v;
	case PTR_PCREL:
		return here + v;
	default:
		c->bad = true;
		return 0;
	}
}

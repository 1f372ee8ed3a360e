/*
 * A growing byte buffer with a ceiling: write freely, check once at the end.
 *
 * A write that would pass the ceiling, or that runs out of memory, poisons the
 * buffer: err is set and later writes do nothing. The caller therefore checks
 * buf_err() once, after the last write. Contents are bytes; p is NUL-terminated
 * whenever len > 0.
 */
#pragma once

#include "base/cleanup.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	char *p;
	size_t len;
	size_t cap;
	size_t max; /* ceiling in bytes */
	int err;    /* 0 or -ENOMEM, -E2BIG */
};

/* A buffer that may hold up to max bytes; buf_done() it. */
#define BUF_INIT(ceiling) ((struct buf){.max = (ceiling)})
#define CLEANUP_BUF       CLEANUP(buf_done)
#define BUF_MAX_SMALL     ((size_t)64 << 10)
#define BUF_MAX_REPLY     ((size_t)256 << 20)

void buf_done(struct buf *b);
/* Empties the buffer and clears its error; keeps the memory for reuse. */
void buf_clear(struct buf *b);
static inline int
buf_err(const struct buf *b)
{
	return b->err;
}

/*
 * Makes room for n more bytes and returns the place to write them, or NULL if
 * the buffer is poisoned. The caller adds the number of bytes written to
 * b->len.
 */
char *buf_reserve(struct buf *b, size_t n);
void buf_add(struct buf *b, const void *p, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);
void buf_vaddf(struct buf *b, const char *fmt, va_list ap) PRINTF(2, 0);
/* Appends a decimal number without the cost of printf: big trees print
 * millions. */
void buf_int(struct buf *b, int64_t v);
/* Writes such a number, at most BUF_DIGITS characters, to reserved room, and
 * returns its end. */
#define BUF_DIGITS 20
char *buf_digits(char *to, int64_t v);
/* Appends two lower-case digits per byte. */
void buf_hex(struct buf *b, const uint8_t *p, size_t n);
/* Returns the text, never NULL; it is valid until the next write. */
const char *buf_str(const struct buf *b);
/* Hands the memory (NUL-terminated) to the caller and empties the buffer.
 *
 *   Owns     *out is the caller's; free() it
 *   Errors   the error that poisoned the buffer; *out untouched
 */
MUST_CHECK int buf_take(struct buf *b, char **out, size_t *len);

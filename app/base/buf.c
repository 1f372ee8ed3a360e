#include "base/buf.h"

#include "base/pages.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void
buf_done(struct buf *b)
{
	free(b->p);
	*b = BUF_INIT(b->max);
}

void
buf_clear(struct buf *b)
{
	b->len = 0;
	b->err = 0;
}

static int
buf_grow(struct buf *b, size_t need)
{
	size_t cap = b->cap ? b->cap : 256;
	char *p;

	while (cap < need)
		cap *= 2;
	if (cap > b->max + 1)
		cap = b->max + 1;
	p = realloc(b->p, cap);
	if (!p)
		return -ENOMEM;
	pages_huge(p, cap);
	b->p = p;
	b->cap = cap;
	return 0;
}

char *
buf_reserve(struct buf *b, size_t n)
{
	if (b->err)
		return NULL;
	if (n > b->max || b->len > b->max - n) {
		b->err = -E2BIG;
		return NULL;
	}
	if (b->len + n + 1 > b->cap) {
		b->err = buf_grow(b, b->len + n + 1);
		if (b->err)
			return NULL;
	}
	b->p[b->len + n] = '\0';
	return b->p + b->len;
}

void
buf_add(struct buf *b, const void *p, size_t n)
{
	char *to = buf_reserve(b, n);

	if (!to || !n)
		return;
	memcpy(to, p, n);
	b->len += n;
}

void
buf_puts(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void
buf_putc(struct buf *b, char c)
{
	char *to = buf_reserve(b, 1);

	if (!to)
		return;
	*to = c;
	b->len++;
}

void
buf_vaddf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	char small[256], *to;
	int n;

	va_copy(again, ap);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	if (n < 0) {
		b->err = b->err ? b->err : -EINVAL;
	} else if ((size_t)n < sizeof(small)) {
		buf_add(b, small, (size_t)n);
	} else if ((to = buf_reserve(b, (size_t)n))) {
		vsnprintf(to, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
}

void
buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(b, fmt, ap);
	va_end(ap);
}

void
buf_hex(struct buf *b, const uint8_t *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		buf_putc(b, digits[p[i] >> 4]);
		buf_putc(b, digits[p[i] & 15]);
	}
}

static char *
put_digits(char *to, uint64_t v)
{
	static const char pairs[] = "00010203040506070809"
				    "10111213141516171819"
				    "20212223242526272829"
				    "30313233343536373839"
				    "40414243444546474849"
				    "50515253545556575859"
				    "60616263646566676869"
				    "70717273747576777879"
				    "80818283848586878889"
				    "90919293949596979899";

	if (v >= 100) {
		to = put_digits(to, v / 100);
	} else if (v < 10) {
		*to = (char)('0' + v);
		return to + 1;
	}
	memcpy(to, pairs + v % 100 * 2, 2);
	return to + 2;
}

char *
buf_digits(char *to, int64_t v)
{
	if (v >= 0)
		return put_digits(to, (uint64_t)v);
	*to = '-';
	return put_digits(to + 1, -(uint64_t)v);
}

void
buf_int(struct buf *b, int64_t v)
{
	char digits[BUF_DIGITS];

	buf_add(b, digits, (size_t)(buf_digits(digits, v) - digits));
}

const char *
buf_str(const struct buf *b)
{
	return b->len ? b->p : "";
}

int
buf_take(struct buf *b, char **out, size_t *len)
{
	if (!b->err && !b->p)
		(void)buf_reserve(b, 0);
	if (b->err)
		return b->err;
	b->p[b->len] = '\0';
	*out = TAKE(b->p);
	if (len)
		*len = b->len;
	buf_done(b);
	return 0;
}

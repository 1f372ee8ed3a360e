#include "base/json_out.h"

#include "base/clock.h"
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void
put_key(struct buf *b, const char *key)
{
	if (b->len && !strchr("{[:,", b->p[b->len - 1]))
		buf_putc(b, ',');
	if (!key)
		return;
	json_escape(b, key, strlen(key));
	buf_putc(b, ':');
}

void
json_open(struct buf *b, const char *key, char bracket)
{
	put_key(b, key);
	buf_putc(b, bracket);
}

void
json_close(struct buf *b, char bracket)
{
	buf_putc(b, bracket);
}

void
json_put_text(struct buf *b, const char *key, const char *s)
{
	put_key(b, key);
	json_escape(b, s ? s : "", s ? strlen(s) : 0);
}

void
json_put_int(struct buf *b, const char *key, int64_t v)
{
	put_key(b, key);
	buf_int(b, v);
}

void
json_put_real(struct buf *b, const char *key, double v)
{
	char text[400]; /* DBL_MAX has 309 digits before the point */
	int n;

	if (fabs(v) < 1e15 && v == (double)(int64_t)v) {
		json_put_int(b, key, (int64_t)v);
		return;
	}
	v = isfinite(v) ? v : 0;
	n = snprintf(text, sizeof(text), "%.6f", v);

	while (text[n - 1] == '0')
		n--;
	/* readers of JSON refuse whole numbers that exceed 64 bits */
	if (text[n - 1] == '.' && fabs(v) < 0x1p63)
		n--;
	else if (text[n - 1] == '.')
		text[n++] = '0';
	text[n] = '\0';
	put_key(b, key);
	buf_puts(b, strcmp(text, "-0") ? text : "0");
}

void
json_put_known(struct buf *b, const char *key, double v, bool known)
{
	if (known)
		json_put_real(b, key, v);
	else
		json_put_null(b, key);
}

void
json_put_bool(struct buf *b, const char *key, bool v)
{
	put_key(b, key);
	buf_puts(b, v ? "true" : "false");
}

void
json_put_null(struct buf *b, const char *key)
{
	put_key(b, key);
	buf_puts(b, "null");
}

void
json_put_time(struct buf *b, const char *key, int64_t epoch_ms)
{
	char text[RFC3339_LEN];

	clock_format(epoch_ms, text);
	put_key(b, key);
	buf_putc(b, '"');
	buf_puts(b, text);
	buf_putc(b, '"');
}

void
json_put_time_or_null(struct buf *b, const char *key, int64_t epoch_ms)
{
	if (epoch_ms)
		json_put_time(b, key, epoch_ms);
	else
		json_put_null(b, key);
}

void
json_put_raw(struct buf *b, const char *key, const char *json,
             const char *or_else)
{
	put_key(b, key);
	buf_puts(b, json && *json ? json : or_else);
}

#include "profile/otlp_out.h"

#include "base/driving.h"
#include "base/utf8.h"
#include "profile/stored/wire.h"

#include <string.h>

/* Fields of ExportProfilesServiceResponse, and of the message in it. */
enum { PARTIAL_SUCCESS = 1 };
enum { REJECTED_PROFILES = 1, ERROR_MESSAGE = 2 };

/* Copies as much of the peer's text as there is room for. */
static void
take_message(struct wire w, char out[static OTLP_MESSAGE_MAX])
{
	size_t n = strnlen((const char *)w.p, (size_t)(w.end - w.p));

	if (n >= OTLP_MESSAGE_MAX)
		n = OTLP_MESSAGE_MAX - 1;
	/* don't cut a character in two */
	while (n && w.p + n < w.end && (w.p[n] & 0xc0) == 0x80)
		n--;
	memcpy(out, w.p, n);
	out[n] = '\0';
	utf8_mend(out, n);
	driving_replace(out, n, ' ');
}

static int
read_partial(struct wire w, struct otlp_reply *out)
{
	struct wire_field f;
	int r;

	while ((r = wire_next(&w, &f)) > 0) {
		if (f.key == WIRE_KEY(REJECTED_PROFILES, WIRE_VARINT))
			out->rejected = (int64_t)f.value;
		else if (f.key == WIRE_KEY(ERROR_MESSAGE, WIRE_BYTES))
			take_message(f.bytes, out->message);
	}
	return r;
}

int
otlp_out_reply(const void *p, size_t n, struct otlp_reply *out)
{
	struct wire w = {p, (const uint8_t *)p + n};
	struct otlp_reply reply = {0};
	struct wire_field f;
	int r;

	while ((r = wire_next(&w, &f)) > 0) {
		if (f.key == WIRE_KEY(PARTIAL_SUCCESS, WIRE_BYTES))
			r = read_partial(f.bytes, &reply);
		if (r < 0)
			break;
	}
	if (r < 0)
		return r;
	if (reply.rejected < 0)
		reply.rejected = 0;
	*out = reply;
	return 0;
}

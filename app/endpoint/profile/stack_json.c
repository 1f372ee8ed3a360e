#include "stack_json.h"

static void
put_frames(struct buf *out, const struct groups *g, const struct group *x)
{
	const struct group_frame *f = group_frames(g, x);

	json_open(out, "frames", '[');
	for (uint32_t i = 0; i < x->nframes; i++)
		json_put_text(out, NULL, groups_text(g, f[i].name));
	json_close(out, ']');
	json_put_text(out, "createdBy", groups_text(g, x->creator));
	json_open(out, "locations", '[');
	for (uint32_t i = 0; i < x->nframes; i++)
		json_put_text(out, NULL, groups_text(g, f[i].at));
	json_close(out, ']');
}

void
stack_put(struct buf *out, const struct groups *g, const struct group *x,
          int64_t count)
{
	json_put_int(out, "count", count);
	json_put_text(out, "state", groups_text(g, x->state));
	json_put_text(out, "waitReason", groups_text(g, x->reason));
	put_frames(out, g, x);
	json_put_text(out, "waitReasonRaw", groups_text(g, x->raw));
	json_put_text(out, "class", wait_class_names[wait_class_of(g, x)]);
}

#include "words.h"

#include <string.h>

static const struct {
	const char *what, *fix;
} lacks[LACKS] = {
	[LACK_NOTHING] = {"importers start", ""},
#define LACK(id, what, fix) [LACK_##id] = {what, fix},
#include "lacks.def"
#undef LACK
};

void
lack_find(enum lack lack, int err, struct finding *out)
{
	finding_set(out, lack ? BROKEN : FINE, lacks[lack].fix, "%s%s%s",
	            lacks[lack].what, err ? ": " : "",
	            err ? strerror(err) : "");
}

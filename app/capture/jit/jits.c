#include "jit.h"

#include <errno.h>

#define JIT(id, name, title) extern const struct jit name##_jit;
#include "jits.def"
#undef JIT

static const struct jit *const jits[JITS] = {
#define JIT(id, name, title) [JIT_##id] = &name##_jit,
#include "jits.def"
#undef JIT
};

int
jit_recognise(const struct elf_image *elf, struct jit_image *out)
{
	int rc = -ENOENT;

	for (unsigned i = 0; i < JITS && rc == -ENOENT; i++) {
		struct jit_image image = {.jit = jits[i]};

		rc = jits[i]->recognise(elf, &image);
		if (!rc)
			*out = image;
	}
	return rc;
}

void
jit_image_done(struct jit_image *image)
{
	if (image->jit && image->jit->forget)
		image->jit->forget(image->data);
	*image = (struct jit_image){0};
}

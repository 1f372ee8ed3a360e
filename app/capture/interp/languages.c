#include "interp.h"

#include <errno.h>

#define LANGUAGE(id, name) extern const struct language name##_language;
#include "languages.def"
#undef LANGUAGE

static const struct language *const languages[LANGUAGES] = {
#define LANGUAGE(id, name) [LANGUAGE_##id] = &name##_language,
#include "languages.def"
#undef LANGUAGE
};

int
interp_recognise(const struct elf_image *elf, struct interp_image *out)
{
	int rc = -ENOENT;

	for (unsigned i = 0; i < LANGUAGES && rc == -ENOENT; i++) {
		rc = languages[i]->recognise(elf, out);
		if (!rc)
			out->language = languages[i];
	}
	return rc;
}

/*
 * The writers of formats.def: export_html(), export_svg(), ...
 */
#pragma once

#include "profile/export.h"

#define FORMAT(name, content_type, extension, use, doc) \
	int export_##name(const struct tree *t,         \
	                  const struct export_meta *meta, struct buf *out);
#include "formats.def"
#undef FORMAT

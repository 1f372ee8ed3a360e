/* The writers behind diff_formats.def: diff_html(), diff_svg(), ... */
#pragma once

#include "profile/diff.h"

#define DIFF_FORMAT(name, by, doc)                                          \
	int diff_##name(const struct diff *d, const struct diff_meta *meta, \
	                struct buf *out);
#include "diff_formats.def"
#undef DIFF_FORMAT

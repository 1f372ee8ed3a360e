/*
 * Features that a service's owner has allowed: allow.def.
 */
#pragma once

#include "store/service.h"

#include <stdbool.h>

enum allow {
#define ALLOW(id, key, doc) ALLOW_##id,
#include "allow.def"
#undef ALLOW
	ALLOW_KEYS
};
extern const char *const allow_keys[ALLOW_KEYS];

/* True only when the owner allowed it; false when the row can't be read. */
bool allow_has(const struct service *s, enum allow key);

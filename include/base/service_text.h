/*
 * Texts of tables that suggest commands.
 */
#pragma once

#include "base/buf.h"

/* Appends a text; SERVICE in it becomes the name of the service, unless that is
 * NULL. */
void text_for_service(const char *text, const char *service, struct buf *out);

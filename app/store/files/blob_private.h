/* What blob.c and blob_upkeep.c share. */
#pragma once

#include "store/blob.h"

/* True for what blob_create() makes: rows are not trusted with paths. */
bool blob_name_valid(const char *name);

/* What blob.c and blob_upkeep.c share. */
#pragma once

#include "store/blob.h"

#define BLOB_TEMP ".tmp-" /* of files being written */

/* True for what blob_seal() makes: rows are not trusted with paths. */
bool blob_name_valid(const char *name);

/* The driver of bytes in the database: BYTES_DB of store/bytes.h. */
#pragma once

#include "store/bytes.h"

extern const struct bytes_driver bytes_db;

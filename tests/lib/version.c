#include "base/version.h"

const char stoker_version[] = "0.0.0";

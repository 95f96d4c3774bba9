// What this library is, and what the processor can do.
#include "lanes.h"

KN_API int32_t kn_version(void) { return KN_VERSION; }
KN_API int32_t kn_lanes(void) { return kn::LANES; }

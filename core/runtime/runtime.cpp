// libkerneton in one piece, for one level of the processor: `core/build.py` compiles it once for each.
#include "../memory.cpp"
#include "../poses.cpp"
#include "../powers.cpp"
#include "../sck.cpp"
#include "live.cpp"
#include "model.cpp"
#include "contributions.cpp"

#include "agent/wiring/features.h"

namespace castscope {

constinit Features g_features;

}  // namespace castscope

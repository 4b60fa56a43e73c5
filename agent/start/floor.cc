#include "agent/floor/own_versions.h"

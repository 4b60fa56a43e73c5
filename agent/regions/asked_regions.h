// The arguments with which code made an autocast object. autocast.__init__ (torch/amp/autocast_mode.py) turns a region
// that is not possible into a disabled one, and gives a region without a dtype the default; its __enter__ no longer
// knows. So __init__ is looked at from within: it asks for the name of the private backend, which is a call into
// libc10.
#pragma once

#include <cstdint>

#include "agent/cpython/python_api.h"

namespace castscope::agent {

struct Asked {
  bool known = false;  // the making of the object was seen
  bool enabled = false;
  bool default_dtype = false;  // no dtype was given
};
// The arguments of the object that a frame of autocast.__enter__ enters.
Asked asked_of(const HeldGil& gil, const void* enter_frame);

}  // namespace castscope::agent

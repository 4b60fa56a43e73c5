#include "agent/regions/optimizer_step.h"

#include <cstdint>

namespace castscope::agent {
namespace {

thread_local std::uint32_t t_steps = 0;  // optimizer steps within each other

}  // namespace

bool in_optimizer_step() { return t_steps > 0; }
void optimizer_step_begins() { ++t_steps; }
void optimizer_step_ended() {
  if (t_steps > 0) --t_steps;
}

}  // namespace castscope::agent

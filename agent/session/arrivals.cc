#include "agent/session/arrivals.h"

#include <exception>

#include "agent/session/facts.h"

namespace castscope::agent {

void argument_arrived(const MayWait& may_wait, std::string_view text, std::uint16_t detail) noexcept try {
  if (g_process.silent()) return;
  ThreadState* t = thread_state();
  if (t == nullptr || t->ignoring) return;
  note_fact(may_wait, *t, {.kind = lanes::FactKind::kArgumentArrived, .detail = detail, .text = text});
} catch (const std::exception&) {  // no memory: the report lacks this one
}

}  // namespace castscope::agent

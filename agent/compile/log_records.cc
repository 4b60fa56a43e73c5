#include "agent/compile/log_records.h"

#include <exception>
#include <map>

#include "agent/compile/graphs.h"
#include "agent/compile/skipped_rounding.h"
#include "agent/session/facts.h"

namespace castscope::compile {
namespace {

using agent::g_process;
using agent::ThreadState;

void note_at(lanes::FactKind kind, std::string_view text, const std::vector<CodeLine>& stack, std::uint64_t times = 1) {
  ThreadState* t = g_process.silent() ? nullptr : agent::thread_state();
  if (t == nullptr) return;
  const std::uint32_t place = g_process.recording.load()->definitions.stack(stack);
  if (place != 0) note_fact_as_known(*t, {.kind = kind, .text = text, .stack = place, .times = times});
}

// "0/1 forward (train.py:12): GUARD"
void note_done(std::string_view text, const std::vector<CodeLine>& stack) {
  const bool again = text.find("): ") != std::string_view::npos;
  note_at(again ? lanes::FactKind::kRecompiled : lanes::FactKind::kCompiled, text, stack);
}

void note_skipped_rounding(const Compilation& of, std::string_view text) {
  const auto graph = read_graph(text);
  std::map<std::pair<std::string, std::uint32_t>, std::uint64_t> values;  // per line
  for (const std::uint32_t node : never_rounded(graph)) {
    const Place& place = graph[node].place;
    if (place.line != 0) ++values[{place.file, place.line}];
  }
  for (const auto& [line, count] : values)
    note_at(lanes::FactKind::kCompileSkipsRounding, {}, stack_at(of, {line.first, line.second}), count);
}

void take(const Compilation& of, Logged what, std::string_view text, const std::vector<CodeLine>& stack) {
  switch (what) {
    case Logged::kForwardGraph:
      return add_graph(of, Part::kForward, text);
    case Logged::kBackwardGraph:
      return add_graph(of, Part::kBackward, text);
    case Logged::kStart:
      return begin(of);
    case Logged::kDone:
      return note_done(text, stack);
    case Logged::kCacheBypassed:
      return note_at(lanes::FactKind::kCompileBypassesCache, text, stack);
    case Logged::kInductorGraph:
      return note_skipped_rounding(of, text);
  }
}

}  // namespace

void take_logged(const agent::HeldGil&, const Compilation& of, Logged what, std::string_view text,
                 const std::vector<CodeLine>& stack) noexcept try {
  take(of, what, text, stack);
} catch (const std::exception&) {  // out of memory: the record is dropped, and its graph's casts are not counted
}

}  // namespace castscope::compile

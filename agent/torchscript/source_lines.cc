#include "agent/torchscript/source_lines.h"

#include <charconv>

namespace castscope::script {
namespace {

// The frames of torch.jit.trace and those below it are left out: the run-time callers are told instead.
bool is_tracer(std::string_view file) { return file.ends_with("/torch/jit/_trace.py"); }

std::optional<CodeLine> row(std::string_view text) {
  const auto end = text.rfind("): ");
  if (end == std::string_view::npos) return std::nullopt;
  const auto open = text.rfind('(', end);
  if (open == std::string_view::npos || open == 0 || open + 1 == end) return std::nullopt;
  std::uint32_t line = 0;
  const auto [stopped, error] = std::from_chars(text.data() + open + 1, text.data() + end, line);
  if (error != std::errc() || stopped != text.data() + end) return std::nullopt;
  return CodeLine{std::string(text.substr(0, open)), std::string(text.substr(end + 3)), line};
}

}  // namespace

std::vector<CodeLine> rows_of_trace(std::string_view text) {
  std::vector<CodeLine> rows;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto frame = row(text.substr(0, end));
    if (!frame.has_value() || is_tracer(frame->file)) break;
    rows.push_back(*frame);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return rows;
}

}  // namespace castscope::script

#include "agent/torchscript/ranges.h"

#include <torch/csrc/jit/frontend/source_range.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>

#include "agent/torchscript/known_ranges.h"
#include "agent/torchscript/misplaced.h"
#include "agent/torchscript/source_lines.h"

namespace castscope::script {

torch::jit::SourceRange original_range(const torch::jit::SourceRange& range) {
  const auto original = range.findSourceRangeThatGenerated();
  return original.has_value() ? *original : range;
}

bool is_loaded(const torch::jit::SourceRange& range) {
  return range.findSourceRangeThatGenerated().has_value() || was_loaded(range);
}

namespace {

ToldSource source_as_told(torch::jit::Source& source) {
  return {source.filename().value_or(""), source.text_str().str(),
          static_cast<std::uint32_t>(source.starting_line_no())};
}

}  // namespace

void look_at_file(const torch::jit::SourceRange& given) {
  const torch::jit::SourceRange range = original_range(given);
  const auto& source = range.source();
  if (source == nullptr || !source->filename().has_value()) return;
  ToldSource as_told = source_as_told(*source);
  if (rows_of_trace(as_told.text).empty()) look_at_file(as_told);
}

bool is_traced(const torch::jit::SourceRange& given) {
  const torch::jit::SourceRange range = original_range(given);
  return range.source() != nullptr && !rows_of_trace(range.source()->text_str().str()).empty();
}

void append_frames(const torch::jit::SourceRange& given, std::string_view function, std::vector<CodeLine>& frames) {
  const torch::jit::SourceRange range = original_range(given);
  if (range.source() == nullptr) return;
  const std::vector<CodeLine> rows = rows_of_trace(range.source()->text_str().str());
  if (!rows.empty()) {
    frames.insert(frames.end(), rows.begin(), rows.end());
    return;
  }
  const auto place = range.file_line_col();
  if (!place.has_value()) return;
  frames.push_back({std::get<0>(*place), std::string(function), static_cast<std::uint32_t>(std::get<1>(*place)),
                    any_misplaced() ? misplaced_number(source_as_told(*range.source())) : 0});
}

std::vector<torch::jit::StackEntry> chain_of(const torch::jit::Node& node) {
  std::vector<torch::jit::StackEntry> entries;
  std::string function;
  if (const auto calls = node.callstack())
    for (const auto& [callee, range, module] : (*calls)->vec()) {
      entries.push_back({function, range});
      function = callee == nullptr ? "" : callee->name();
    }
  entries.push_back({function, node.sourceRange()});
  std::reverse(entries.begin(), entries.end());
  return entries;
}

std::vector<CodeLine> frames_of(const std::vector<torch::jit::StackEntry>& entries) {
  std::vector<CodeLine> frames;
  for (const torch::jit::StackEntry& entry : entries)
    if (!is_pytorchs(entry.range)) append_frames(entry.range, entry.filename, frames);
  return frames;
}

}  // namespace castscope::script

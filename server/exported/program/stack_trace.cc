#include "server/exported/program/stack_trace.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/str_cat.h"
#include "server/store/run/run_data.h"

namespace castscope::exported {
namespace {

// Parses `File "model.py", line 29, in forward`.
std::optional<TraceFrame> frame_in(std::string_view line) {
  constexpr std::string_view kFile = "File \"", kLine = "\", line ", kIn = ", in ";
  if (!line.starts_with(kFile)) return std::nullopt;
  line.remove_prefix(kFile.size());
  const std::size_t end_of_file = line.rfind(kLine);
  if (end_of_file == line.npos) return std::nullopt;
  TraceFrame frame;
  frame.at.file = line.substr(0, end_of_file);
  line.remove_prefix(end_of_file + kLine.size());
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), frame.at.line);
  if (error != std::errc() || frame.at.line <= 0) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (!line.starts_with(kIn)) return std::nullopt;
  frame.at.function = line.substr(kIn.size());
  return frame;
}

// Takes the next part off the text.
std::string_view next(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

bool is_marks(std::string_view line) { return line.find_first_not_of("^~ ") == line.npos; }

// Returns the folders of the torch package in these frames, where it is not installed as packages are: a checkout of
// PyTorch.
std::vector<std::string> torch_folders(const std::vector<TraceFrame>& frames) {
  std::vector<std::string> folders;
  for (const TraceFrame& frame : frames) {
    for (const char* inside : {"/torch/nn/modules/", "/torch/_dynamo/", "/torch/export/", "/torch/fx/"}) {
      const std::size_t at = frame.at.file.find(inside);
      if (at != std::string::npos) folders.push_back(frame.at.file.substr(0, at) + "/torch");
    }
  }
  return folders;
}

// Returns "Net.forward" for a function "forward", if the class is defined in this file.
std::string qualified(const store::CodeLocation& at, const std::string& class_name) {
  const std::size_t dot = class_name.rfind('.');
  if (at.function != "forward" || dot == std::string::npos) return at.function;
  const std::string home = class_name.substr(0, dot), module = home.substr(home.rfind('.') + 1);
  const bool is_here = at.file.ends_with(absl::StrCat("/", module, ".py")) || module == "__main__" ||
                       at.file.ends_with(absl::StrCat("/", module, "/__init__.py"));
  return is_here ? absl::StrCat(class_name.substr(dot + 1), ".", at.function) : at.function;
}

}  // namespace

std::string_view stripped(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\f\v";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::vector<TraceFrame> frames_of(std::string_view stack_trace) {
  std::vector<TraceFrame> frames;
  while (!stack_trace.empty()) {
    const std::string_view text = stripped(next(stack_trace, '\n'));
    if (auto frame = frame_in(text)) {
      frames.push_back(*std::move(frame));
    } else if (!frames.empty() && frames.back().text.empty() && !text.empty() && !is_marks(text)) {
      frames.back().text = text;
    }
  }
  return frames;
}

std::vector<ModuleFrame> modules_of(std::string_view nn_module_stack) {
  std::vector<ModuleFrame> modules;
  while (!nn_module_stack.empty()) {
    std::string_view entry = next(nn_module_stack, ';');
    next(entry, ',');
    const std::string_view path = next(entry, ','), class_name = entry;
    if (!class_name.empty()) modules.push_back({std::string(path), std::string(class_name)});
  }
  return modules;
}

std::string user_class(const std::vector<ModuleFrame>& modules) {
  const auto at = std::find_if(modules.rbegin(), modules.rend(), [](const ModuleFrame& module) {
    return !module.class_name.empty() && !module.class_name.starts_with("torch.");
  });
  return at == modules.rend() ? "" : at->class_name;
}

std::optional<SourcePlace> user_place(std::string_view stack_trace, std::string_view nn_module_stack) {
  const std::vector<TraceFrame> frames = frames_of(stack_trace);
  const std::vector<std::string> folders = torch_folders(frames);
  const auto own = std::find_if(frames.rbegin(), frames.rend(),
                                [&](const TraceFrame& frame) { return store::is_users_own(frame.at, folders); });
  if (own == frames.rend()) return std::nullopt;
  const std::vector<ModuleFrame> modules = modules_of(nn_module_stack);
  SourcePlace place{own->at, own->text, modules.empty() ? "" : modules.back().path};
  place.at.function = qualified(own->at, user_class(modules));
  return place;
}

}  // namespace castscope::exported

#include "server/rules/evidence/places/places.h"

#include <algorithm>
#include <filesystem>

namespace castscope::rules {

using store::CodeLocation;
using store::RunData;

Line line_of(const RunData& data, store::StackId stack) {
  const CodeLocation at = data.user_location(stack).value_or(CodeLocation());
  return {at.file, at.line};
}

std::string place_text(const RunData& data, const Line& line) {
  return portable_path(line.file, data.start.project()) + ":" + std::to_string(line.number);
}

std::string place_text(const RunData& data, const CodeLocation& at) { return place_text(data, Line{at.file, at.line}); }

std::string plain_path(std::string_view file) {
  if (file.empty() || file.front() == '<') return std::string(file);
  return std::filesystem::path(file).lexically_normal().string();
}

std::string portable_path(std::string_view name, std::string_view project) {
  const std::string path = plain_path(name);
  const std::string_view file = path;
  while (project.ends_with('/')) project.remove_suffix(1);
  // These folders are tried first: an environment often lies in the job's own folder.
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    if (const std::size_t at = file.rfind(folder); at != std::string_view::npos)
      return std::string(file.substr(at + 1));
  }
  if (!project.empty() && file.size() > project.size() && file.starts_with(project) && file[project.size()] == '/')
    return std::string(file.substr(project.size() + 1));
  return std::string(file);
}

const std::vector<CodeLocation>& frames_of(const RunData& data, store::StackId stack) {
  static const std::vector<CodeLocation> none;
  return stack == 0 ? none : data.stacks[stack].frames;
}

std::string_view last_name(std::string_view qualified) { return qualified.substr(qualified.rfind('.') + 1); }

std::string_view within_torch(const RunData& data, const CodeLocation& frame) {
  if (store::is_users_own(frame, data.torch_folders)) return "";
  const std::size_t at = frame.file.rfind("/torch/");
  return at == std::string::npos ? std::string_view() : std::string_view(frame.file).substr(at + 7);
}

bool is_module_call(const RunData& data, const CodeLocation& frame) {
  const std::string_view name = last_name(frame.function);
  return (name == "_call_impl" || name == "_wrapped_call_impl") && within_torch(data, frame) == "nn/modules/module.py";
}

bool is_inside_torch(const RunData& data, store::StackId stack) {
  const std::vector<CodeLocation>& frames = frames_of(data, stack);
  return !frames.empty() && !store::is_users_own(frames.front(), data.torch_folders);
}

bool is_within_torch(const RunData& data, store::StackId stack, std::string_view part) {
  const std::vector<CodeLocation>& frames = frames_of(data, stack);
  return std::any_of(frames.begin(), frames.end(),
                     [&](const CodeLocation& frame) { return within_torch(data, frame).starts_with(part); });
}

}  // namespace castscope::rules

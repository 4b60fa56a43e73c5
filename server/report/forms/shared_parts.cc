#include "server/report/forms/shared_parts.h"

#include "server/report/model/json_values.h"

namespace castscope::report {

using Json = nlohmann::ordered_json;

std::size_t SharedParts::frame(const store::CodeLocation& at) {
  const auto [known, is_new] = frame_places_.try_emplace({at.file, {at.line, at.function}}, frames_.size());
  if (is_new) frames_.push_back(location_json(run_, at));
  return known->second;
}

Json SharedParts::stack(store::StackId id) {
  if (id == 0 || run_.stacks[id].frames.empty()) return nullptr;
  if (stack_places_[id] > 0) return stack_places_[id] - 1;
  const store::Stack& stack = run_.stacks[id];
  Json indexes = Json::array();
  for (const store::CodeLocation& at : stack.frames) indexes.push_back(frame(at));
  stacks_.push_back({{"frame_indexes", std::move(indexes)},
                     {"frame_index", frame(*run_.user_location(id))},
                     {"stack_truncated", stack.truncated}});
  stack_places_[id] = stacks_.size();
  return stacks_.size() - 1;
}

Json SharedParts::module(store::ModuleId id) {
  if (id == 0) return nullptr;
  const auto [known, is_new] = module_places_.try_emplace(id, modules_.size());
  if (is_new) {
    const store::Module& module = run_.modules[id];
    modules_.push_back({{"module", module.path},
                        {"module_type", text_or_null(module.type)},
                        {"root_module_type", text_or_null(module.root_type)},
                        {"model", text_or_null(module.model())}});
  }
  return known->second;
}

Json SharedParts::call_site(const std::string& op, const std::string& argument) {
  if (op.empty() && argument.empty()) return nullptr;
  const auto [known, is_new] = call_site_places_.try_emplace({op, argument}, call_sites_.size());
  if (is_new) call_sites_.push_back({{"operator", text_or_null(op)}, {"argument", text_or_null(argument)}});
  return known->second;
}

void SharedParts::add_to(Json& report) const {
  report["frames"] = frames_;
  report["stacks"] = stacks_;
  report["modules"] = modules_;
  report["call_sites"] = call_sites_;
}

}  // namespace castscope::report

// SharedParts lists each line of code, stack, module and pair of operator and argument of a report once. Thousands of
// sites then refer to them by their places in the lists, which are in the order of first use.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "server/store/run/run_data.h"

namespace castscope::report {

class SharedParts {
 public:
  using Json = nlohmann::ordered_json;

  explicit SharedParts(const store::RunData& run) : run_(run), stack_places_(run.stacks.size()) {}

  // Places in the lists, from 0; null where there is none.
  Json stack(store::StackId);
  Json module(store::ModuleId);
  Json call_site(const std::string& op, const std::string& argument);  // "" = not known

  // Adds `frames`, `stacks`, `modules` and `call_sites`, as docs/report.schema.json has them.
  void add_to(Json& report) const;

 private:
  std::size_t frame(const store::CodeLocation&);

  const store::RunData& run_;
  std::map<std::pair<std::string, std::pair<std::int64_t, std::string>>, std::size_t> frame_places_;
  store::Table<std::size_t, store::Stack> stack_places_;  // 1 + the place; 0 = not used yet
  std::map<store::ModuleId, std::size_t> module_places_;
  std::map<std::pair<std::string, std::string>, std::size_t> call_site_places_;
  Json frames_ = Json::array(), stacks_ = Json::array(), modules_ = Json::array(), call_sites_ = Json::array();
};

}  // namespace castscope::report

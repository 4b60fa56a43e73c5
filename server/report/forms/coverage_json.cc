#include "server/report/forms/coverage_json.h"

#include <nlohmann/json.hpp>

#include "server/report/model/json_values.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

Json rules_json(const std::vector<rules::JudgedRule>& rules) {
  Json list = Json::array();
  for (const rules::JudgedRule& of : rules)
    list.push_back(
        {{"rule", of.rule->name}, {"judged", rules::name(of.judged)}, {"because", text_or_null(of.because)}});
  return list;
}

// "layers.0 of Net", as rows of sites name it.
Json module_json(const store::Module& module) {
  return {{"model", text_or_null(module.model())}, {"module", module.path}};
}

}  // namespace

Json recording_json(const store::RunData& run) {
  return {{"deep", rules::deep_mode(run)}, {"gpu", rules::gpu_setting(run)}, {"keep", text_or_null(run.start.keep)}};
}

Json coverage_json(const Model& model) {
  const rules::LookedAt& looked = model.looked_at;
  Json modules = Json::array();
  for (const store::ModuleId id : looked.modules_not) modules.push_back(module_json(model.run.modules[id]));
  Json gap = nullptr;
  if (looked.first_gap) gap = {{"process", looked.first_gap->process}, {"step", looked.first_gap->step}};
  return {{"steps_to_look_at", looked.steps},
          {"deep_steps", looked.deep_steps},
          {"deep_operators", looked.operators},
          {"deep_ns", looked.ns},
          {"first_step_not_looked_at", gap},
          {"new_code_left_out", looked.refused},
          {"sites_to_look_at", looked.sites},
          {"sites_looked_at", looked.sites - looked.sites_not.size()},
          {"modules_to_look_at", looked.modules},
          {"modules_looked_at", looked.modules - looked.modules_not.size()},
          {"regions_to_look_at", looked.regions},
          {"regions_looked_at", looked.regions - looked.regions_not.size()},
          {"sites_not_looked_at", looked.sites_not},
          {"modules_not_looked_at", modules},
          {"regions_not_looked_at", looked.regions_not},
          {"rules", rules_json(model.rules)}};
}

}  // namespace castscope::report

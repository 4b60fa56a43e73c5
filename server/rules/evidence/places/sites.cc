#include "server/rules/evidence/places/sites.h"

#include "server/rules/evidence/places/places.h"
#include "server/store/run/names.h"

namespace castscope::rules {

bool is_of_model(const store::Site& site) {
  return site.role == lanes::Role::kWeight || site.role == lanes::Role::kBuffer;
}

std::string argument_name(const store::RunData& data, const store::Site& site) {
  return site.call_site == 0 ? "" : data.call_sites[site.call_site].argument_name;
}

std::string argument_text(const store::RunData& data, const store::Site& site) {
  const std::string name = argument_name(data, site);
  return name.empty() ? std::string(store::name(site.role)) : name;
}

const store::Site* annotation_of(const store::RunData& data, const store::OperatorUse& conversion) {
  if (!conversion.is(lanes::kUseConverts) || conversion.operands.empty()) return nullptr;
  const Line at = line_of(data, conversion.stack);
  for (const store::Site& site : data.sites)
    if (site.cause == lanes::Cause::kAnnotation && site.from == conversion.operands.front().dtype &&
        site.to == conversion.result && line_of(data, site.stack) == at)
      return &site;
  return nullptr;
}

}  // namespace castscope::rules

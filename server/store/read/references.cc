#include "server/store/read/references.h"

#include <type_traits>
#include <utility>

namespace castscope::store {
namespace {

// 0 is none.
std::size_t refer(std::uint32_t& id, std::size_t count) {
  if (id <= count) return 0;
  id = 0;
  return 1;
}

bool names(std::uint32_t id, std::size_t count) { return id > 0 && id <= count; }

template <typename Rows, typename Good>
std::size_t keep(Rows& rows, Good good) {
  return std::erase_if(rows, [&](const auto& row) { return !good(row); });
}

std::size_t mend_definitions(RunData& data) {
  std::size_t mended = keep_numbered(data.regions) + keep_numbered(data.sites);
  for (Region& region : data.regions) {
    mended += refer(region.stack, data.stacks.size());
    mended += refer(region.parent, region.id - 1);
  }
  for (Site& site : data.sites) {
    mended += refer(site.stack, data.stacks.size());
    mended += refer(site.module, data.modules.size());
    mended += refer(site.call_site, data.call_sites.size());
    mended += refer(site.region, data.regions.size());
  }
  return mended;
}

std::size_t mend_counts(RunData& data) {
  const std::size_t processes = data.processes.size(), sites = data.sites.size(), regions = data.regions.size();
  return keep(data.site_uses, [&](const SiteUse& u) { return names(u.process, processes) && u.site <= sites; }) +
         keep(data.region_uses,
              [&](const RegionUse& u) { return names(u.process, processes) && names(u.region, regions); }) +
         keep(data.step_runs, [&](const StepRun& r) { return names(r.process, processes) && r.last >= r.first; }) +
         keep(data.behaviour_sites, [&](const BehaviourSite& b) { return names(b.site, sites); });
}

// Returns how many sites, uses and so on the run has, of the kind of thing that this fact is about.
std::size_t subjects(const Fact& fact, const RunData& data) {
  switch (lanes::subject_of(fact.kind)) {
    case lanes::FactSubject::kSite:
      return data.sites.size();
    case lanes::FactSubject::kOperatorUse:
      return data.operator_uses.size();
    case lanes::FactSubject::kRegion:
      return data.regions.size();
    case lanes::FactSubject::kNothing:
      break;
  }
  return 0;
}

std::size_t mend_deep_definitions(RunData& data) {
  std::size_t mended = keep_numbered(data.operator_uses) + keep_numbered(data.flows);
  const std::size_t uses = data.operator_uses.size();
  for (OperatorUse& use : data.operator_uses) {
    mended += refer(use.stack, data.stacks.size());
    mended += refer(use.module, data.modules.size());
    mended += refer(use.region, data.regions.size());
  }
  // A flow is known by its number: none may be left out between others.
  std::size_t flows = 0;
  while (flows < data.flows.size() && names(data.flows[flows].from, uses) && names(data.flows[flows].to, uses)) ++flows;
  mended += data.flows.size() - flows;
  data.flows.resize(flows);
  return mended;
}

template <typename Row>
std::size_t count_of(Refers refers, const Row& row, const RunData& data) {
  switch (refers) {
    case Refers::kStack:
      return data.stacks.size();
    case Refers::kModule:
      return data.modules.size();
    case Refers::kRegion:
      return data.regions.size();
    case Refers::kSite:
      return data.sites.size();
    case Refers::kOperatorUse:
      return data.operator_uses.size();
    case Refers::kSubjectOfFact:
      if constexpr (std::is_same_v<Row, Fact>) return subjects(row, data);
      break;
    case Refers::kNothing:
      break;
  }
  return 0;
}

template <typename Row>
std::size_t mend_rows(RunData& data) {
  auto& rows = Counted<Row>::rows(data);
  std::size_t mended = keep_numbered(rows);
  for (Row& row : rows) {
    Row::columns(row, [&](const char*, auto& value, Refers refers = Refers::kNothing) {
      if constexpr (std::is_same_v<decltype(value), std::uint32_t&>)
        if (refers != Refers::kNothing) mended += refer(value, count_of(refers, row, data));
    });
  }
  return mended + keep(Counted<Row>::counts(data), [&](const auto& count) {
           return names(count.process, data.processes.size()) && names(count.*Counted<Row>::kNumber, rows.size());
         });
}

std::size_t mend_deep_counts(RunData& data) {
  const std::size_t processes = data.processes.size(), uses = data.operator_uses.size();
  std::size_t mended =
      keep(data.use_counts, [&](const UseCount& c) { return names(c.process, processes) && names(c.use, uses); }) +
      keep(data.value_ranges,
           [&](const ValueRange& r) {
             return names(r.process, processes) && (r.site == 0) != (r.use == 0) && r.site <= data.sites.size() &&
                    r.use <= uses;
           }) +
      keep(data.scaler_uses, [&](const ScalerUse& u) { return names(u.process, processes); });
  for (ScalerUse& use : data.scaler_uses) {
    for (std::uint32_t* fact :
         {&use.last_update, &use.update_between_backwards, &use.step_past_scaler, &use.clip_before_unscale})
      mended += refer(*fact, data.facts.size());
  }
  return mended;
}

std::size_t mend_gpu(RunData& data) {
  const std::size_t processes = data.processes.size();
  std::size_t mended = keep_numbered(data.kernels);
  for (Kernel& kernel : data.kernels) {
    mended += refer(kernel.site, data.sites.size());
    mended += refer(kernel.use, data.operator_uses.size());
    mended += refer(kernel.name, data.kernel_names.size());
  }
  return mended + keep(data.kernel_counts, [&](const KernelCount& c) {
           return names(c.process, processes) && names(c.kernel, data.kernels.size());
         });
}

}  // namespace

std::size_t mend_references(RunData& data) {
  std::size_t mended = keep_numbered(data.processes);
  mended += mend_definitions(data);  // what others refer to comes first
  mended += mend_counts(data);
  mended += mend_deep_definitions(data);
#define CASTSCOPE_MEND(Type, ...) mended += mend_rows<Type>(data);
  CASTSCOPE_ROW_DEFINITIONS(CASTSCOPE_MEND)
#undef CASTSCOPE_MEND
  mended += mend_deep_counts(data);
  return mended + mend_gpu(data);
}

}  // namespace castscope::store

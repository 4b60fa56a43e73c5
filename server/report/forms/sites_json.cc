#include "server/report/forms/sites_json.h"

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "server/report/model/code_order.h"
#include "server/report/model/json_values.h"
#include "server/report/model/uncast_regions.h"
#include "server/report/text/words.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;
using store::RunData;

Json number_or_null(std::uint32_t id) { return id == 0 ? Json() : Json(id); }

// A report has thousands of sites: a member that has the default of the schema is left out.
template <typename Value>
void add_unless(const Value& usual, Json& json, const char* key, const Value& value) {
  if (value != usual) json[key] = value;
}

Json by_process_json(const SiteTotal& total) {
  Json list = Json::array();
  for (const store::SiteUse* use : total.uses)  // in the order of the processes
    list.push_back({{"process", use->process},
                    {"casts", use->counts.casts},
                    {"cache_hits", use->counts.hits},
                    {"bytes", use->counts.bytes},
                    {"cpu_ns", use->counts.cpu_ns}});
  return list;
}

void add_counts(const Model& model, const SiteTotal& total, Json& json) {
  const store::Counts& counts = total.counts;
  const std::uint64_t none = 0;
  json["casts"] = counts.casts;
  add_unless(none, json, "cache_hits", counts.hits);
  add_unless(none, json, "kept", counts.kept);
  const store::Site& site = model.run.sites[total.site];
  if (site.why != lanes::WhyNotCached::kNone) json["why_not_cached"] = store::name(site.why);
  add_unless(none, json, "bytes", counts.bytes);
  add_unless(none, json, "cpu_ns", counts.cpu_ns);
  add_unless(none, json, "first_cpu_ns", total.first_ns);
  if (model.gpu.timed()) json["gpu_ns"] = model.gpu.sites[total.site].ns;
  if (model.run.processes.size() > 1) json["by_process"] = by_process_json(total);
}

Json site_json(const Model& model, const SiteTotal& total, SharedParts& parts) {
  const store::Site& site = model.run.sites[total.site];
  const Json nothing;
  Json json = {{"site", site.id}, {"fingerprint", model.site_fingerprints[site.id]}};
  add_unless(nothing, json, "stack_index", parts.stack(site.stack));
  add_unless(nothing, json, "module_index", parts.module(site.module));
  add_unless(nothing, json, "call_site_index", parts.call_site(site.op, argument_of(model.run, site.call_site)));
  json["role"] = store::name(site.role);
  json["from_dtype"] = store::dtype_name(site.from);
  json["to_dtype"] = store::dtype_name(site.to);
  json["device"] = store::device_name(site.device);
  json["cause"] = store::name(site.cause);
  json["phase"] = store::name(site.phase);
  add_unless(nothing, json, "forward_site", number_or_null(site.forward_site));
  add_unless(false, json, "compiled", site.compiled());
  if (const auto looked_at = model.looked_at.site_looked_at[site.id]) json["looked_at"] = *looked_at;
  add_unless(nothing, json, "region", number_or_null(site.region));
  add_counts(model, total, json);
  return json;
}

Json region_json(const Model& model, const store::Region& region, std::string_view why_uncast, SharedParts& parts) {
  const RegionTotal& total = model.regions[region.id];
  const store::Counts& counts = total.counts;
  return {{"region", region.id},
          {"stack_index", parts.stack(region.stack)},
          {"region_kind", store::name(region.kind)},
          {"region_device", store::device_name(region.device)},
          {"region_dtype", store::dtype_name(region.dtype)},
          {"dtype_by_default", (region.flags & lanes::kRegionDefaultDtype) != 0},
          {"enabled", region.enabled},
          {"asked_enabled", region.enabled || (region.flags & lanes::kRegionAskedEnabled) != 0},
          {"cache_enabled", region.cache_enabled},
          {"nesting", region.nesting},
          {"parent", number_or_null(region.parent)},
          {"entered", total.entered},
          {"casts", counts.casts},
          {"cache_hits", counts.hits},
          {"pass_throughs", counts.passes},
          {"bytes", counts.bytes},
          {"cpu_ns", counts.cpu_ns},
          {"why_nothing_cast", text_or_null(why_uncast)},
          {"most_entries_in_stay", total.most_entries},
          {"most_bytes_in_stay", total.most_bytes}};
}

}  // namespace

Json regions_json(const Model& model, SharedParts& parts) {
  const auto why_uncast = why_nothing_was_cast(model.run);
  Json list = Json::array();
  for (const store::RegionId id : regions_by_code(model.run))
    list.push_back(region_json(model, model.run.regions[id], why_uncast[id], parts));
  return list;
}

Json sites_json(const Model& model, SharedParts& parts) {
  Json list = Json::array();
  for (const std::size_t place : model.by_code) list.push_back(site_json(model, model.sites[place], parts));
  return list;
}

Json pass_through_places_json(const Model& model) {
  const RunData& data = model.run;
  const auto places = region_places(data);
  // operator, argument, place of the region, region
  std::map<std::tuple<std::string, std::string, std::size_t, std::uint32_t>, std::uint64_t> passes;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (use.counts.passes == 0) continue;
    const std::size_t place = site.region == 0 ? 0 : places[site.region];
    passes[{site.op, argument_of(data, site.call_site), place, site.region}] += use.counts.passes;
  }
  Json list = Json::array();
  for (const auto& [key, count] : passes) {
    const auto& [op, position, place, region] = key;
    list.push_back({{"operator", text_or_null(op)},
                    {"argument", text_or_null(position)},
                    {"region", number_or_null(region)},
                    {"pass_throughs", count}});
  }
  return list;
}

}  // namespace castscope::report

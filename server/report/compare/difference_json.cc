// A difference as JSON: docs/diff.schema.json.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "server/report/compare/difference.h"
#include "server/report/findings/fingerprint.h"
#include "server/report/model/json_values.h"
#include "server/report/text/document.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

Json line_json(const auto& at) {
  return {{"file", text_or_null(at.file)},
          {"line", at.line > 0 ? Json(at.line) : Json()},
          {"function", text_or_null(at.function)}};
}

Json precision_json(const AccountPrecision& one) {
  const bool is_product = one.calls > 0;
  Json json = line_json(one);
  json.update({{"model", text_or_null(one.model)},
               {"module", one.model.empty() ? Json() : Json(one.module)},
               {"operator", one.op},
               {"computed_in", text_or_null(one.computed)},
               {"calls", is_product ? Json(one.calls) : Json()},
               {"grad_mode", is_product ? Json(one.grad_mode) : Json()},
               {"half_from", text_or_null(one.half_from)}});
  return json;
}

Json site_json(const AccountSite& site) {
  Json json = line_json(site);
  json.update({{"source_text", text_or_null(std::string(site.known_text()))},
               {"operator", text_or_null(site.op)},
               {"argument", text_or_null(site.argument)},
               {"phase", site.phase},
               {"cause", site.cause},
               {"from_dtype", site.from},
               {"to_dtype", site.to},
               {"casts", site.casts},
               {"cache_hits", site.hits},
               {"bytes", site.bytes},
               {"cpu_ns", site.cpu_ns}});
  return json;
}

Json compared_finding(const Account& account, std::size_t i) {
  const store::Finding& finding = account.findings[i];
  const store::CodeLocation at = finding.location.value_or(store::CodeLocation());
  return {{"rule", finding.rule},
          {"severity", finding.severity},
          {"file", finding.location ? Json(portable_path(at.file, account.project)) : Json()},
          {"line", finding.location ? Json(at.line) : Json()},
          {"title", finding.title},
          {"fingerprint", account.fingerprints[i]}};
}

Json findings_json(const Account& account, const std::vector<std::size_t>& which) {
  Json list = Json::array();
  for (const std::size_t i : which) list.push_back(compared_finding(account, i));
  return list;
}

Json moved_json(const Account& before, const Account& after, const Difference& difference) {
  Json list = Json::array();
  for (const auto& [was, is] : difference.moved_findings)
    list.push_back({{"before", compared_finding(before, was)}, {"after", compared_finding(after, is)}});
  return list;
}

Json real_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

}  // namespace

Json difference_json(const Account& before, const Account& after, const Difference& difference) {
  Json totals = Json::object();
  for (const TotalChange& total : difference.totals)
    totals[std::string(total.name)] = {{"before", total.before}, {"after", total.after}};
  Json sites = Json::array();
  for (const SiteChange& change : difference.sites) {
    sites.push_back({{"change", name(change.change)},
                     {"by_time_alone", change.by_time_alone},
                     {"before", change.change == Change::kNew ? Json() : site_json(change.before)},
                     {"after", change.change == Change::kGone ? Json() : site_json(change.after)}});
  }
  Json precision = Json::array();
  for (const PrecisionChange& change : difference.precision)
    precision.push_back({{"before", precision_json(change.before)},
                         {"after", precision_json(change.after)},
                         {"in_part", change.in_part}});
  Json new_in_a_half = Json::array();
  for (const AccountPrecision& one : difference.new_in_a_half) new_in_a_half.push_back(precision_json(one));
  Json metrics = Json::array();
  for (const auto& [was, is] : difference.metrics)
    metrics.push_back({{"metric_name", was.name},
                       {"first_value", {{"before", real_or_null(was.first)}, {"after", real_or_null(is.first)}}},
                       {"last_value", {{"before", real_or_null(was.last)}, {"after", real_or_null(is.last)}}}});
  return document(kDiffForm, {{"before", {{"compared_file", before.name}, {"complete", before.complete}}},
                              {"after", {{"compared_file", after.name}, {"complete", after.complete}}},
                              {"differs", difference.any()},
                              {"doubts", difference.doubts},
                              {"per_step", difference.per_step},
                              {"total_changes", totals},
                              {"finding_changes",
                               {{"new_findings", findings_json(after, difference.new_findings)},
                                {"fixed_findings", findings_json(before, difference.fixed_findings)},
                                {"moved_findings", moved_json(before, after, difference)},
                                {"unseen_before", findings_json(after, difference.unseen_before)},
                                {"unseen_after", findings_json(before, difference.unseen_after)}}},
                              {"precision_changes", precision},
                              {"new_in_a_half", new_in_a_half},
                              {"metric_changes", metrics},
                              {"site_changes", sites}});
}

}  // namespace castscope::report

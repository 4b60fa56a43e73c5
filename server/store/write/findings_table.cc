#include "server/store/write/findings_table.h"

#include <nlohmann/json.hpp>

namespace castscope::store {
namespace {

using Json = nlohmann::ordered_json;

std::string dumped(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

absl::Status write_findings(Database& database, std::span<const Finding> findings) {
  CASTSCOPE_RETURN_IF_ERROR(database.exec("DELETE FROM findings"));
  auto add = Statement::prepare(
      database,
      "INSERT INTO findings (rule, severity, title, file, line, function, evidence, fix, related, deep_only, savings) "
      "VALUES (?,?,?,?,?,?,?,?,?,?,?)");
  if (!add.ok()) return add.status();
  for (const Finding& finding : findings) {
    Json evidence = Json::object(), related = Json::array(), savings;
    for (const auto& [name, number] : finding.evidence_number) evidence[name] = number;
    for (const auto& [name, text] : finding.evidence_text) evidence[name] = text;
    for (const CodeLocation& at : finding.related)
      related.push_back({{"file", at.file}, {"line", at.line}, {"function", at.function}});
    if (finding.savings)
      savings = {{"ns_per_step", finding.savings->ns_per_step},
                 {"share_of_step", finding.savings->share_of_step},
                 {"held_bytes", finding.savings->held_bytes}};
    const CodeLocation at = finding.location.value_or(CodeLocation());
    CASTSCOPE_RETURN_IF_ERROR(add->run(finding.rule, finding.severity, finding.title, at.file, at.line, at.function,
                                       dumped(evidence), finding.fix, dumped(related), finding.deep_only,
                                       dumped(savings)));
  }
  return absl::OkStatus();
}

absl::Status write_fingerprints(Database& database, const Fingerprints& fingerprints) {
  auto site = Statement::prepare(database, "UPDATE sites SET fingerprint = ? WHERE id = ?");
  if (!site.ok()) return site.status();
  std::uint64_t id = 0;
  for (const std::string& fingerprint : fingerprints.sites) {
    id++;
    if (!fingerprint.empty()) CASTSCOPE_RETURN_IF_ERROR(site->run(fingerprint, id));
  }
  auto finding = Statement::prepare(database, "UPDATE findings SET fingerprint = ? WHERE id = ?");
  if (!finding.ok()) return finding.status();
  for (std::size_t i = 0; i < fingerprints.findings.size(); ++i)
    CASTSCOPE_RETURN_IF_ERROR(finding->run(fingerprints.findings[i], static_cast<std::uint64_t>(i + 1)));
  return absl::OkStatus();
}

}  // namespace castscope::store

#include "server/report/account.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/report/fingerprint.h"
#include "server/report/json.h"
#include "server/report/model.h"
#include "server/rules/judgement.h"
#include "server/store/run_store.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

std::string text_or_empty(const Json& value) { return value.is_null() ? "" : value.get<std::string>(); }

// What is JSON, and yet no report.
struct Unknown : std::runtime_error {
  using std::runtime_error::runtime_error;
};

store::CodeLocation location_of(const Json& json) {
  const Json& line = json.at("line");
  return {text_or_empty(json.at("file")), text_or_empty(json.at("function")),
          line.is_null() ? 0 : line.get<std::int64_t>()};
}

store::Finding finding_of(const Json& json) {
  store::Finding finding;
  finding.rule = json.at("rule");
  finding.severity = json.at("severity");
  if (!rules::is_severity(finding.severity)) throw Unknown("\"" + finding.severity + "\" is no severity");
  finding.title = json.at("title");
  finding.fix = json.at("fix");
  if (!json.at("location").at("file").is_null()) finding.location = location_of(json.at("location"));
  return finding;
}

// Reports of the first castscopes hold no source.
store::SourceLines source_of(const Json& report) {
  store::SourceLines source;
  if (!report.contains("source")) return source;
  for (const Json& file : report.at("source")) {
    store::SourceFile kept;
    kept.file = file.at("file");
    for (const Json& line : file.at("lines")) kept.lines[line.at("line")] = line.at("text");
    source.add(std::move(kept));
  }
  return source;
}

AccountSite site_of(const Json& json, const store::SourceLines& source, const std::string& project) {
  AccountSite site;
  const store::CodeLocation at = location_of(json.at("location"));
  site.file = portable_path(at.file, project);
  site.function = at.function;
  site.line = at.line;
  const auto text = source.line(at.file, at.line);
  if (at.line > 0) site.text = text ? normalised(*text) : absl::StrCat("line ", at.line);
  site.op = text_or_empty(json.at("operator"));
  site.argument = text_or_empty(json.at("argument"));
  site.phase = json.at("phase");
  site.cause = json.at("cause");
  site.from = json.at("from");
  site.to = json.at("to");
  site.casts = json.at("casts");
  site.hits = json.at("cache_hits");
  site.bytes = json.at("bytes");
  site.cpu_ns = json.at("cpu_ns");
  return site;
}

AccountPrecision precision_of(const Json& json, const std::string& project) {
  const store::CodeLocation at = location_of(json.at("location"));
  AccountPrecision one;
  one.file = portable_path(at.file, project);
  one.function = at.function;
  one.line = at.line;
  one.model = text_or_empty(json.at("model"));
  one.module = text_or_empty(json.at("module"));
  one.op = json.at("operator");
  one.computed = json.at("computed_in");
  one.grad_mode = json.at("grad_mode");
  one.calls = json.at("calls");
  return one;
}

void read_numbers(const Json& report, Account& account) {
  const Json &totals = report.at("totals"), &cache = report.at("cache"), &steps = report.at("steps");
  account.casts = totals.at("casts");
  account.hits = totals.at("cache_hits");
  account.passes = totals.at("pass_through");
  account.bytes = totals.at("bytes");
  account.cpu_ns = totals.at("cpu_ns");
  account.cache_peak_bytes = cache.at("peak_bytes");
  account.cache_peak_entries = cache.at("peak_entries");
  account.steps = steps.at("count");
  for (const Json& run : steps.at("runs")) {
    const std::int64_t took = run.at("end_ns").get<std::int64_t>() - run.at("begin_ns").get<std::int64_t>();
    if (took > 0) account.steps_ns += static_cast<std::uint64_t>(took);
  }
}

// What a report's own run was silenced by stays silenced; these settings come on top.
void read_findings(const Json& report, const rules::Settings& settings, const store::SourceLines& source,
                   Account& account) {
  if (report.contains("ignored")) {
    account.ignored_by_settings = report.at("ignored").at("by_settings");
    account.ignored_in_code = report.at("ignored").at("in_code");
  }
  std::vector<store::Finding> all;
  for (const Json& json : report.at("findings")) {
    store::Finding finding = finding_of(json);
    if (!settings.selects(finding.rule)) continue;
    const auto set = settings.severity.find(finding.rule);
    if (set != settings.severity.end()) finding.severity = set->second;
    all.push_back(std::move(finding));
  }
  rules::Judgement judgement = rules::sort_out(std::move(all), settings, source, account.run_folder);
  account.ignored_by_settings += judgement.ignored_by_settings;
  account.ignored_in_code += judgement.ignored_in_code;
  account.findings = std::move(judgement.findings);
  account.fingerprints = fingerprints(account.findings, source, account.project);
}

std::string failure_of(const Json& run) {
  if (run.contains("signal") && !run.at("signal").is_null())
    return absl::StrCat("signal ", run.at("signal").get<std::int64_t>());
  if (!run.contains("exit") || run.at("exit").is_null() || run.at("exit") == 0) return "";
  return absl::StrCat("exit status ", run.at("exit").get<std::int64_t>());
}

std::string command_of(const Json& run) {
  std::string all;
  for (const Json& word : run.at("command")) all += (all.empty() ? "" : " ") + word.get<std::string>();
  return all;
}

absl::StatusOr<Account> read_report(const std::string& file, const std::string& text, const rules::Settings& settings) {
  const Json report = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (report.is_discarded())
    return absl::DataLossError(
        absl::StrCat(file, " is neither a run file nor a report: it is no JSON, or was cut short"));
  return account_of(report, file, settings);
}

}  // namespace

absl::StatusOr<Account> account_of(const Json& report, const std::string& name, const rules::Settings& settings) {
  if (!report.is_object() || !report.contains("format") || !report.contains("run"))
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is no report of castscope: give a run file (NAME.castscope) or its report (NAME.json)"));
  const Json& format = report.at("format");
  if (format != 1)
    return absl::InvalidArgumentError(absl::StrCat(name, " is a report of format ", format.dump(),
                                                   ", and this castscope knows format 1: make it again from its run "
                                                   "file, or use the castscope that made it"));
  try {
    Account account;
    account.name = name;
    const Json& run = report.at("run");
    account.command = command_of(run);
    account.run_folder = run.at("cwd");
    account.project = run.contains("checkout") ? text_or_empty(run.at("checkout")) : "";
    if (account.project.empty()) account.project = account.run_folder;
    account.complete = run.at("complete");
    if (run.contains("damage")) account.damage = run.at("damage");
    account.processes = report.at("processes").size();
    account.failure = failure_of(run);
    account.notices = run.at("notices").get<std::vector<std::string>>();
    read_numbers(report, account);
    const store::SourceLines source = source_of(report);
    read_findings(report, settings, source, account);
    for (const Json& json : report.at("sites")) account.sites.push_back(site_of(json, source, account.project));
    if (report.contains("precision"))
      for (const Json& json : report.at("precision")) account.precision.push_back(precision_of(json, account.project));
    return account;
  } catch (const Json::exception& error) {
    const std::string what = error.what();  // "[json.exception.out_of_range.403] key 'findings' not found"
    const std::size_t end = what.find("] ");
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is no whole report of castscope: ", end == what.npos ? what : what.substr(end + 2)));
  } catch (const Unknown& unknown) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is no report of castscope: ", unknown.what()));
  }
}

absl::StatusOr<Account> read_account(const std::string& file, const rules::Settings& settings) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    return absl::NotFoundError(absl::StrCat(file, " is a folder: give a run file or a report in it"));
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return absl::NotFoundError(absl::StrCat(file, " cannot be read: ", std::strerror(errno)));
  constexpr std::string_view kSqlite = "SQLite format 3";
  std::string begin(kSqlite.size(), '\0');
  stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (stream && begin == kSqlite) {
    const absl::StatusOr<store::RunData> data = store::read_as_it_is(file);
    if (!data.ok()) return data.status();
    return account_of(to_json(model_of(*data, rules::judgement_of(*data, settings))), file, rules::Settings());
  }
  begin.resize(static_cast<std::size_t>(stream.gcount()));
  if (begin.empty()) return absl::DataLossError(absl::StrCat(file, " is empty"));
  stream.clear();  // what follows is read on: a pipe cannot be read again
  const std::string rest((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  return read_report(file, begin + rest, settings);
}

}  // namespace castscope::report

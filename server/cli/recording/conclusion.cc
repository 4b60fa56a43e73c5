#include "server/cli/recording/conclusion.h"

#include <cstring>
#include <filesystem>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/cli/toolkit/fresh_file.h"
#include "server/files/plain_file.h"
#include "server/report/forms/json.h"

namespace castscope::cli {
namespace {

// For a run whose file was removed: its old place, if no other file is there now.
Output place_anew(const Output& before, const std::vector<std::string>& command, OutputClaim& claim) {
  std::error_code error;
  const bool is_free = !std::filesystem::exists(std::filesystem::symlink_status(before.run_file(), error));
  return is_free && check_writable(before).ok() ? before : fallback_output(command, time_for_names(), claim);
}

// Writes findings, source lines and fingerprints into the run file, for readers who use SQL or no longer have the
// source.
absl::Status keep(const report::Model& model, judging::Lines lines, store::RunStore& store) {
  absl::Status status = lines == judging::Lines::kFromDisk ? store.set_source(model.run.source) : absl::OkStatus();
  if (status.ok()) status = store.set_findings(model.findings);
  return status.ok() ? store.set_fingerprints({.sites = model.site_fingerprints, .findings = model.fingerprints})
                     : status;
}

}  // namespace

void forget_report(const Output& output) {
  std::error_code error;  // check_writable() has said what can be said
  if (std::filesystem::is_regular_file(output.report_file(), error))
    std::filesystem::remove(output.report_file(), error);
}

bool is_taken_by_another(const Output& output, const std::string& run_id) {
  const auto file = files::PlainFile::open(output.report_file());
  if (!file.ok()) return false;
  std::string begin = file->begin(16 << 10).value_or("");  // more than paths take before the run's id
  std::erase_if(begin, [](unsigned char c) { return absl::ascii_isspace(c); });
  return !absl::StrContains(begin, R"("document":"report")") ||
         !absl::StrContains(begin, absl::StrCat(R"("run_id":")", run_id, "\""));
}

absl::Status write_text_file(const std::string& path, const std::string& text) {
  FreshFile file(path);
  file.stream() << text;
  if (file.keep()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(path, " cannot be written: ", std::strerror(file.error())));
}

absl::StatusOr<Conclusion> conclude(store::RunStore& store, const store::RunEnd& end, const Output& output,
                                    judging::Lines lines, const rules::Settings& settings,
                                    const judging::ShownLine& shown) {
  const bool moved = store.has_moved();
  absl::Status status = moved ? store.notice(
                                    "the run file was moved or deleted while it was being written: this is a second "
                                    "one, which holds the whole run")
                              : absl::OkStatus();
  if (status.ok()) status = store.finish(end);
  absl::StatusOr<store::RunData> data = store.read();
  if (status.ok()) status = data.status();
  Conclusion result{.run = nullptr, .output = output};
  std::optional<report::Model> model;
  if (data.ok()) {
    result.run = judging::judged(*std::move(data), settings, lines, shown);
    model.emplace(report::model_of(*result.run));
  }
  if (status.ok()) status = keep(*model, lines, store);
  OutputClaim claim;
  if (moved && result.run != nullptr) {
    result.output = place_anew(output, result.run->data.start.command, claim);
    result.moved = absl::StrCat(output.run_file(), " was moved or deleted while it was being written; ",
                                result.output.stem == output.stem
                                    ? std::string("it was written again")
                                    : absl::StrCat("the run is in ", result.output.run_file(), " instead"));
  }
  absl::Status closed = result.moved.empty() ? store.close() : store.close_elsewhere(result.output.run_file());
  // Whatever was read is worth a report, even if the file cannot be kept.
  if (model && is_taken_by_another(result.output, model->run.start.run_id))
    result.no_report = absl::StrCat(result.output.report_file(),
                                    " is no report of this run: it stays, and the report was not written (",
                                    "`castscope report ", result.output.run_file(), "` prints it)");
  else if (model)
    closed.Update(write_text_file(result.output.report_file(), report::json_text(*model)));
  if (status.ok()) status = closed;
  if (!status.ok()) return status;
  return result;
}

}  // namespace castscope::cli

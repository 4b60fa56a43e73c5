// The routes that give what castscope's commands write: what rules mean, the difference between two runs, and every
// report format.
#include <sstream>

#include "absl/strings/str_cat.h"
#include "server/report/compare/account.h"
#include "server/report/compare/difference.h"
#include "server/report/findings/explain.h"
#include "server/report/forms/formats.h"
#include "server/web/api/routes.h"

namespace castscope::web {
namespace {

Answer rules(Call&) { return json_answer(report::rule_list_json()); }

absl::StatusOr<report::Account> account_of(RunSource& run) {
  const auto snapshot = run.snapshot();
  if (!snapshot.ok()) return snapshot.status();
  return report::account_of((*snapshot)->model(), run.file());
}

Answer compare(Call& call) {
  const std::string with = call.parameters.text("with_run");
  if (with.empty()) return wrong_parameter("with_run", "with_run is missing: the id of the run to compare with");
  const RunPtr other = call.runs.find(with);
  if (other == nullptr) return absl::NotFoundError("there is no such run to compare with");
  const auto before = account_of(*call.run), after = account_of(*other);
  if (!before.ok()) return before.status();
  if (!after.ok()) return after.status();
  return json_answer(report::difference_json(*before, *after, report::difference_of(*before, *after)));
}

// The media type for browsers, and the end of the file's name.
struct Form {
  std::string_view type, suffix;
};
Form form_of(report::Format format) {
  switch (format) {
    case report::Format::kHtml:
      return {"text/html; charset=utf-8", ".html"};
    case report::Format::kMarkdown:
      return {"text/markdown; charset=utf-8", ".md"};
    case report::Format::kCsv:
      return {"text/csv; charset=utf-8", ".csv"};
    case report::Format::kLayersCsv:
      return {"text/csv; charset=utf-8", ".layers.csv"};
    case report::Format::kDot:
      return {"text/vnd.graphviz; charset=utf-8", ".dot"};
    case report::Format::kSarif:
      return {"application/sarif+json", ".sarif"};
    case report::Format::kPerfetto:
      return {"application/octet-stream", ".pftrace"};
    case report::Format::kSpeedscope:
      return {"application/json", ".speedscope.json"};
    case report::Format::kJsonLines:
      return {"application/x-ndjson", ".jsonl"};
    case report::Format::kChrome:
      return {"application/json", ".trace.json"};
    default:
      return {"application/json", ".json"};
  }
}

Answer report_of(Call& call) {
  const std::string word = call.parameters.text("format");
  const auto format = report::format_of(word.empty() ? "json" : word);
  if (!format) {
    std::string names;
    for (const report::FormatName& one : report::formats()) absl::StrAppend(&names, " ", std::string(one.name));
    return wrong_parameter("format", absl::StrCat("format is none of", names));
  }
  if (call.run->state() == RunState::kGone)
    return absl::NotFoundError(absl::StrCat(call.run->file(), " was moved or deleted: it cannot be reported"));
  std::ostringstream out;
  const absl::Status status = report::write_report(call.run->file(), *format, call.run->settings(), out);
  std::string body = std::move(out).str();
  if (!status.ok() && (!absl::IsDataLoss(status) || body.empty())) return status;
  const Form form = form_of(*format);
  Response response{.status = 200, .type = std::string(form.type), .body = std::move(body)};
  response.headers.emplace_back(
      "Content-Disposition", absl::StrCat("attachment; filename=\"", call.run->id(), std::string(form.suffix), "\""));
  return response;
}

}  // namespace

void add_report_routes(std::vector<Route>& routes) {
  routes.push_back({"rules", {}, rules});
  routes.push_back({"runs/{run}/compare", {"with_run"}, compare, true});
  routes.push_back({"runs/{run}/report", {"format"}, report_of});
}

}  // namespace castscope::web

#include "server/report/forms/formats.h"

#include <array>

#include "server/report/drawings/dot.h"
#include "server/report/forms/csv.h"
#include "server/report/forms/json.h"
#include "server/report/forms/markdown.h"
#include "server/report/forms/sarif.h"
#include "server/report/html/page.h"
#include "server/report/model/model.h"
#include "server/report/timelines/chrome_trace.h"
#include "server/report/timelines/json_lines.h"
#include "server/report/timelines/perfetto.h"
#include "server/report/timelines/speedscope.h"

namespace castscope::report {
namespace {

constexpr std::array kFormats = {
    FormatName{"json", Format::kJson, "everything (docs/report.schema.json)"},
    FormatName{"sarif", Format::kSarif, "findings, for code scanning"},
    FormatName{"html", Format::kHtml, "one page for people"},
    FormatName{"md", Format::kMarkdown, "Markdown for a pull request"},
    FormatName{"csv", Format::kCsv, "the sites, for spreadsheets"},
    FormatName{"csv-layers", Format::kLayersCsv, "dtypes of each layer's arguments, for spreadsheets"},
    FormatName{"dot", Format::kDot, "the graph of a step with its casts, for Graphviz"},
    FormatName{"perfetto", Format::kPerfetto, "the kept events, for ui.perfetto.dev"},
    FormatName{"chrome", Format::kChrome, "the kept events as JSON, for chrome://tracing and others"},
    FormatName{"speedscope", Format::kSpeedscope, "CPU time by stack and the kept events, for speedscope.app"},
    FormatName{"jsonl", Format::kJsonLines, "the kept events, one JSON object a line, for programs"},
};

std::string text_of(Format format, const Model& model) {
  switch (format) {
    case Format::kSarif:
      return sarif_text(model);
    case Format::kHtml:
      return html_text(model);
    case Format::kMarkdown:
      return markdown_text(model);
    case Format::kDot:
      return dot_text(model.run);
    case Format::kCsv:
      return csv_text(model);
    case Format::kLayersCsv:
      return layers_csv_text(model);
    default:
      return json_text(model);
  }
}

}  // namespace

std::span<const FormatName> formats() { return kFormats; }

std::optional<Format> format_of(std::string_view name) {
  for (const FormatName& one : kFormats) {
    if (one.name == name) return one.format;
  }
  return std::nullopt;
}

absl::Status write_report(const std::string& run_file, Format format, const rules::Settings& settings,
                          std::ostream& out) {
  if (format == Format::kPerfetto) return perfetto_trace(run_file, out);
  if (format == Format::kChrome) return chrome_trace(run_file, out);
  if (format == Format::kSpeedscope) return speedscope(run_file, out);
  if (format == Format::kJsonLines) return json_lines(run_file, out);
  const auto run = judging::read_and_judge(run_file, settings);
  if (!run.ok()) return run.status();
  const std::string text = text_of(format, model_of(**run));
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.flush();
  if (!out) return absl::UnavailableError("the output cannot be written: check the disk for space");
  return damage_status(run_file, (*run)->data);
}

}  // namespace castscope::report

#include "server/report/forms/csv.h"

#include <initializer_list>

#include "server/report/text/words.h"
#include "server/rules/evidence/places/places.h"
#include "server/store/run/names.h"
#include "server/utf8/utf8.h"

namespace castscope::report {
namespace {

// A question mark for each control character, as in the reports for terminals: people look at such files with `cat`,
// too. Tabs and line ends stay, which a quoted field may hold.
std::string harmless(const std::string& text) {
  std::string plain = utf8::on_one_line(text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool ends_line = text[i] == '\n' || (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n');
    if (ends_line || text[i] == '\t') plain[i] = text[i];
  }
  return plain;
}

}  // namespace

std::string csv_field(std::string_view text) {
  std::string field = harmless(utf8::repaired(text));
  // Spreadsheets execute a field that looks like a formula (OWASP, CSV injection).
  const std::size_t begin = field.find_first_not_of(" \t\r\n\v\f");
  const bool like_formula =
      begin != std::string::npos && std::string_view("=+-@").find(field[begin]) != std::string::npos;
  if (like_formula || field.starts_with('\t') || field.starts_with('\r')) field.insert(0, "'");
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

void add_csv_line(std::string& text, std::initializer_list<std::string> fields) {
  bool first = true;
  for (const std::string& field : fields) {
    if (!first) text += ',';
    text += csv_field(field);
    first = false;
  }
  text += "\r\n";
}

std::string csv_text(const Model& model) {
  std::string text;
  add_csv_line(
      text, {"site",        "fingerprint", "file",         "line",   "function",       "model",      "module",
             "module_type", "operator",    "argument",     "role",   "from_dtype",     "to_dtype",   "device",
             "cause",       "phase",       "region",       "casts",  "cache_hits",     "kept",       "why_not_cached",
             "bytes",       "cpu_ns",      "first_cpu_ns", "gpu_ns", "gpu_ns_at_most", "source_text"});
  const store::RunData& run = model.run;
  for (std::size_t i = 0; i < model.sites.size(); ++i) {
    const SiteTotal& total = model.sites[i];
    const store::Site& site = run.sites[total.site];
    const store::Module* const module = model.module_of(site);
    const auto at = run.user_location(site.stack);
    const auto source = at ? run.source.line(at->file, at->line) : std::nullopt;
    const store::Counts& c = total.counts;
    const bool kept = site.why == lanes::WhyNotCached::kNone;
    add_csv_line(text, {std::to_string(site.id),
                        model.site_fingerprints[site.id],
                        at ? rules::portable_path(at->file, run.start.project()) : "",
                        at ? std::to_string(at->line) : "",
                        at ? at->function : "",
                        module ? module->model() : "",
                        module ? module->path : "",
                        module ? module->type : "",
                        site.op,
                        argument_of(run, site.call_site),
                        std::string(store::name(site.role)),
                        std::string(store::dtype_name(site.from)),
                        std::string(store::dtype_name(site.to)),
                        std::string(store::device_name(site.device)),
                        std::string(store::name(site.cause)),
                        std::string(store::name(site.phase)),
                        site.region ? std::to_string(site.region) : "",
                        std::to_string(c.casts),
                        std::to_string(c.hits),
                        std::to_string(c.kept),
                        kept ? "" : std::string(store::name(site.why)),
                        std::to_string(c.bytes),
                        std::to_string(c.cpu_ns),
                        std::to_string(total.first_ns),
                        model.gpu.timed() ? std::to_string(model.gpu.sites[site.id].ns) : "",
                        model.gpu.by_events.steps > 0 ? std::to_string(model.gpu.by_events.sites[site.id].ns) : "",
                        source ? std::string(*source) : ""});
  }
  return text;
}

}  // namespace castscope::report

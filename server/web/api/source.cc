// The routes for source files, with the casts of each line.
#include <map>

#include "server/judging/source_reader.h"
#include "server/report/findings/fingerprint.h"
#include "server/report/text/words.h"
#include "server/web/api/routes.h"

namespace castscope::web {
namespace {

struct OfLine {
  store::Counts counts;
  std::vector<store::SiteId> sites;
};
using OfFile = std::map<std::int64_t, OfLine>;

std::map<std::string, OfFile> lines_of(const store::RunData& run) {
  store::Table<store::Counts, store::Site> counts(run.sites.size());
  for (const store::SiteUse& use : run.site_uses) counts[use.site] += use.counts;
  std::map<std::string, OfFile> files;
  for (const store::Site& site : run.sites) {
    const auto at = run.user_location(site.stack);
    if (!at || at->file.empty()) continue;
    OfLine& line = files[report::portable_path(at->file, run.start.project())][at->line];
    line.counts += counts[site.id];
    line.sites.push_back(site.id);
  }
  return files;
}

Answer list(const store::RunData& run) {
  Json files = Json::array();
  for (const auto& [file, lines] : lines_of(run)) {
    store::Counts sum;
    for (const auto& [line, of] : lines) sum += of.counts;
    files.push_back({{"file", file}, {"casts", sum.casts}, {"cache_hits", sum.hits}, {"cpu_ns", sum.cpu_ns}});
  }
  return json_answer({{"source_files", std::move(files)}});
}

// Returns the file as the job had it, by its path from `root`. Only files that the run itself names are shown, nothing
// else of the disk; "" = the run names none like this.
std::string named_file(const store::RunData& run, const std::string& path) {
  const auto is_it = [&](const std::string& file) { return report::portable_path(file, run.start.project()) == path; };
  for (const auto& [file, kept] : run.source.files())
    if (is_it(file)) return file;
  for (const store::Stack& stack : run.stacks)
    for (const store::CodeLocation& frame : stack.frames)
      if (is_it(frame.file)) return frame.file;
  return "";
}

Json rules_by_line(const std::vector<rules::Finding>& findings, const std::string& file) {
  Json lines = Json::object();
  for (const rules::Finding& finding : findings) {
    if (!finding.location || finding.location->file != file) continue;
    lines[std::to_string(finding.location->line)].push_back(finding.rule);
  }
  return lines;
}

Answer one(const RunSource& source, const Snapshot& snapshot, const std::string& path) {
  const store::RunData& run = snapshot.data();
  const std::string name = named_file(run, path);
  if (name.empty()) return absl::NotFoundError("the run names no such source file");
  store::SourceFile file{.file = name, .state = store::SourceState::kGone, .lines = {}};
  if (const store::SourceFile* const kept = run.source.file(name)) file = *kept;
  if (source.sources_here() && file.state != store::SourceState::kChanged) {
    if (store::SourceFile whole = judging::read_whole(run, name); whole.state == store::SourceState::kKept)
      file = whole;
  }
  Json lines = Json::array(), casts = Json::object();
  for (const auto& [number, text] : file.lines)
    lines.push_back({{"line", number}, {"source_text", report::shown_source(text)}});
  const std::map<std::string, OfFile> of_files = lines_of(run);
  const auto of_file = of_files.find(path);
  for (const auto& [number, of] : of_file == of_files.end() ? OfFile() : of_file->second)
    casts[std::to_string(number)] = {{"casts", of.counts.casts},
                                     {"cache_hits", of.counts.hits},
                                     {"cpu_ns", of.counts.cpu_ns},
                                     {"site_ids", of.sites}};
  return json_answer({{"file", path},
                      {"source_state", store::name(file.state)},
                      {"source_lines", std::move(lines)},
                      {"casts_by_line", std::move(casts)},
                      {"rules_by_line", rules_by_line(snapshot.model().findings, name)}});
}

Answer source(Call& call) {
  const auto snapshot = call.run->snapshot();
  if (!snapshot.ok()) return snapshot.status();
  if (!call.parameters.has("file")) return list((*snapshot)->data());
  return one(*call.run, **snapshot, call.parameters.text("file"));
}

}  // namespace

void add_source_routes(std::vector<Route>& routes) { routes.push_back({"runs/{run}/source", {"file"}, source}); }

}  // namespace castscope::web

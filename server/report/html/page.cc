#include "server/report/html/page.h"

#include <algorithm>
#include <cstring>
#include <ranges>

#include "server/report/html/parts.h"
#include "server/report/html/style.h"
#include "server/report/html/table.h"
#include "server/report/text/breakable.h"
#include "server/report/text/words.h"

namespace castscope::report {
namespace {

constexpr std::size_t kFindingsListed = 8, kSourceFiles = 20;

std::string title_of(const Model& model) {
  const std::string command = command_line(model.run);
  return "castscope: " + (command.empty() ? model.run.start.run_id : command);
}

void write_head(Html& html, const Model& model) {
  const auto head = html.element("head");
  html.empty("meta", {{"charset", "utf-8"}});
  const std::string policy =
      "default-src 'none'; style-src '" + std::string(kStyleDigest) + "'; base-uri 'none'; form-action 'none'";
  html.empty("meta", {{"http-equiv", "Content-Security-Policy"}, {"content", policy}});
  html.empty("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  html.empty("meta", {{"name", "referrer"}, {"content", "no-referrer"}});
  html.leaf("title", title_of(model));
  html.trusted(std::string("<style>") + kStyle + "</style>\n");
}

// The classes of the run's end in the style sheet: it shows kBad in red and kDoubtful in amber.
constexpr const char *kBad = "end bad", *kDoubtful = "end doubtful", *kWell = "end";

void write_end(Html& html, const Model& model) {
  const auto& end = model.run.end;
  if (model.run.damage && !end) {
    html.leaf("span", "its end cannot be read", {{"class", kDoubtful}});
  } else if (!end) {
    html.leaf("span", "still running, or its end was not seen", {{"class", kDoubtful}});
  } else if (end->signal) {
    const char* const name = sigabbrev_np(*end->signal);
    html.leaf("span",
              "killed by " + (name == nullptr ? "signal " + std::to_string(*end->signal) : "SIG" + std::string(name)),
              {{"class", kBad}});
  } else if (model.exit) {
    html.leaf("span", "exit status " + std::to_string(*model.exit), {{"class", *model.exit == 0 ? kWell : kBad}});
  } else {
    html.leaf("span", "exit status not known", {{"class", kDoubtful}});
  }
  if (!model.complete() || model.run.damage) html.leaf("span", "incomplete", {{"class", kDoubtful}});
}

void write_header(Html& html, const Model& model) {
  const store::RunData& run = model.run;
  const auto header = html.element("header");
  html.leaf("h1", "castscope report");
  {
    const auto command = html.element("p", {{"class", "command"}});
    const auto code = html.element("code");
    write_breakable(html, command_line(run));
  }
  const auto facts = html.element("div", {{"class", "facts"}});
  write_end(html, model);
  html.leaf("span", utc(run.start.start_ns));
  if (run.end)
    html.leaf("span",
              duration(static_cast<std::uint64_t>(std::max<std::int64_t>(run.end->end_ns - run.start.start_ns, 0))));
  if (!run.start.host.empty()) html.leaf("span", "on " + run.start.host);
  if (!run.start.cwd.empty()) {
    const auto folder = html.element("span", {{"class", "wrap"}});
    write_breakable(html, "in " + run.start.cwd);
  }
  if (!run.processes.empty()) {
    const store::Process& first = run.processes[model.process_order.front()];
    if (const std::string torch = first.attribute("torch_version"); !torch.empty())
      html.leaf("span", "PyTorch " + torch);
    if (const std::string python = first.attribute("python_version"); !python.empty())
      html.leaf("span", "Python " + python);
  }
  if (!run.start.castscope_version.empty()) html.leaf("span", "castscope " + run.start.castscope_version);
}

void write_sources(Page& page, const Model& model) {
  const auto not_kept = [](const auto& file) { return file.second.state != store::SourceState::kKept; };
  if (std::ranges::none_of(model.run.source.files(), not_kept)) return;
  const Section section(page, "source", "Source that is not shown");
  std::size_t files = 0;
  for (const auto& [name, file] : model.run.source.files()) {
    if (file.state == store::SourceState::kKept || ++files > kSourceFiles) continue;
    std::string state(store::name(file.state));
    if (file.state == store::SourceState::kChanged) state = "was changed after the run began";
    if (file.state == store::SourceState::kGone) state = "is gone";
    if (file.state == store::SourceState::kUnreadable) state = "cannot be read";
    if (file.state == store::SourceState::kNotText) state = "is not text";
    if (file.state == store::SourceState::kTooLarge) state = "is too large";
    const auto line = page.html.element("p");
    {
      const auto code = page.html.element("code");
      write_breakable(page.html, name);
    }
    page.html.text(" " + state);
  }
  write_rest(page.html, files, kSourceFiles, "JSON");
}

void write_contents(Html& html, const Model& model, const std::vector<Page::Entry>& contents) {
  const auto nav = html.element("nav", {{"aria-label", "Contents"}});
  const auto list = html.element("ul");
  const auto link = [&](const std::string& id, const std::string& text) { html.leaf("a", text, {{"href", "#" + id}}); };
  {
    const auto item = html.element("li");
    link("totals", "Totals");
  }
  for (const Page::Entry& entry : contents) {
    const auto item = html.element("li");
    link(entry.id, entry.title);
    if (entry.id != "findings" || model.findings.empty()) continue;
    const auto findings = html.element("ul");
    for (const ShownFinding& shown : shown_findings(model) | std::views::take(kFindingsListed)) {
      const auto one = html.element("li");
      link("finding-" + std::to_string(shown.number), std::to_string(shown.number) + " " + shown.finding->rule);
    }
  }
}

// Writes a note that only the print shows: it names the sections that the print leaves out.
void write_not_printed(Html& html, const std::vector<Page::Entry>& contents) {
  std::vector<std::string> titles;
  for (const Page::Entry& entry : contents)
    if (!entry.printed) titles.push_back(entry.title);
  html.leaf("p",
            "On paper, tables end after ten rows and what is folded stays folded." +
                (titles.empty() ? "" : " The page also has: " + listed(titles) + ".") +
                " The JSON report has everything.",
            {{"class", "paper soft"}});
}

}  // namespace

Section::Section(Page& page, const std::string& id, const std::string& title, OnPaper on_paper)
    : scope_(page.html.element("section", {{"id", id}, {"class", on_paper == OnPaper::kYes ? "" : "screen"}})) {
  page.contents.push_back({.id = id, .title = title, .printed = on_paper == OnPaper::kYes});
  const auto heading = page.html.element("div", {{"class", "heading"}});
  page.html.leaf("h2", title);
  page.html.leaf("a", "#", {{"href", "#" + id}, {"class", "anchor"}, {"aria-label", "# Link to " + title}});
}

std::string html_text(const Model& model) {
  Page page;
  write_findings(page, model);
  write_costs(page, model);
  write_modules(page, model);
  write_cache(page, model);
  write_charts(page, model);
  write_graph(page, model);
  write_sites(page, model);
  write_layers(page, model);
  write_gpu(page, model);
  write_modes(page, model);
  write_protected(page, model);
  write_regions(page, model);
  write_processes(page, model);
  write_sources(page, model);

  Html html;
  html.trusted("<!DOCTYPE html>\n");
  {
    const auto document = html.element("html", {{"lang", "en"}});
    write_head(html, model);
    const auto body = html.element("body");
    write_header(html, model);
    write_contents(html, model, page.contents);
    const auto main = html.element("main");
    write_first_screen(html, model);
    html.trusted(page.html.take());
    write_not_printed(html, page.contents);
  }
  return html.take();
}

}  // namespace castscope::report

#include "server/report/html/page.h"

#include "server/report/html/parts.h"
#include "server/report/html/style.h"
#include "server/report/model/metrics.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/finding.h"

namespace castscope::report {
namespace {

constexpr std::size_t kMetrics = 100;

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

std::string how_it_ended(const Model& model) {
  if (model.run.damage && !model.run.end) return "its end cannot be read";
  if (!model.run.end) return "still running, or its end was not seen";
  if (model.run.end->signal) return "ended by signal " + std::to_string(*model.run.end->signal);
  return model.exit ? "exit status " + std::to_string(*model.exit) : "exit status not known";
}

void write_header(Html& html, const Model& model) {
  const store::RunData& run = model.run;
  const auto header = html.element("header");
  html.leaf("h1", "castscope report");
  {
    const auto command = html.element("p", {{"class", "command"}});
    html.leaf("code", command_line(run));
  }
  const auto facts = html.element("div", {{"class", "facts"}});
  html.leaf("span", utc(run.start.start_ns));
  if (run.end)
    html.leaf("span",
              duration(static_cast<std::uint64_t>(std::max<std::int64_t>(run.end->end_ns - run.start.start_ns, 0))));
  html.leaf("span", how_it_ended(model));
  if (!run.start.host.empty()) html.leaf("span", "on " + run.start.host);
  if (!run.start.cwd.empty()) html.leaf("span", "in " + run.start.cwd, {{"class", "wrap"}});
  if (!run.processes.empty()) {
    const store::Process& first = run.processes[model.process_order.front()];
    if (const std::string torch = first.attribute("torch_version"); !torch.empty())
      html.leaf("span", "PyTorch " + torch);
    if (const std::string python = first.attribute("python_version"); !python.empty())
      html.leaf("span", "Python " + python);
  }
  if (!run.start.castscope_version.empty()) html.leaf("span", "castscope " + run.start.castscope_version);
}

void write_alerts(Html& html, const Model& model) {
  if (const std::string failure = failure_sentence(model); !failure.empty())
    html.leaf("p", failure, {{"class", "alert"}});
  if (!model.complete() && !model.run.damage) {
    html.leaf("p", "This run is not complete: only what had been recorded by then is counted here.",
              {{"class", "alert"}});
  }
  for (const std::string& notice : model.notices) html.leaf("p", notice, {{"class", "alert"}});
}

void write_totals(Html& html, const Model& model) {
  html.leaf("h2", "Totals");
  const store::Counts& all = model.totals.autocast;
  const auto list = html.element("dl", {{"class", "cards"}});
  const auto card = [&](const char* name, const std::string& value) {
    const auto box = html.element("div");
    html.leaf("dt", name);
    html.leaf("dd", value);
  };
  card("casts by autocast", grouped(all.casts));
  card("cache hits", grouped(all.hits));
  card("pass-throughs", grouped(all.passes));
  if (all.traced > 0) card("while tracing", grouped(all.traced));
  card("copied by autocast", rules::readable_bytes(all.bytes));
  card("CPU time of its casts", duration(all.cpu_ns));
  card("cache at most", rules::readable_bytes(model.totals.cache.cache_peak_bytes));
  if (model.totals.compiled.casts > 0)
    card("casts in compiled graphs, not timed", grouped(model.totals.compiled.casts));
  card("steps", grouped(model.steps));
  if (model.evaluations > 0) card("evaluations", grouped(model.evaluations));
  card("processes", grouped(model.run.processes.size()));
  if (const std::string others = other_causes(model); !others.empty()) card("casts not by autocast", others);
  if (model.totals.dropped_events > 0) card("events dropped", grouped(model.totals.dropped_events));
}

// Writes the same lines as the summary.
void write_in_brief(Html& html, const Model& model) {
  const auto write_named = [&](const char* name, const std::string& what) {
    if (what.empty()) return;
    const auto line = html.element("p");
    html.leaf("strong", name);
    html.text(" " + what);
  };
  write_named("Cast:", roles_line(model.roles));
  write_named("Not cached:", not_kept_line(model.roles));
  if (model.input) write_named("The model's input:", input_line(model.run, *model.input));
  if (const std::string computed = computed_line(model.run, model.layers); !computed.empty())
    write_named("Computed:", computed + " (" + looked_at_text(model.layers, model.looked_at) + " looked at)");
  write_named("Numbers of the steps:", metrics_line(model, kMetrics));
}

void write_sources(Html& html, const Model& model) {
  bool any = false;
  for (const auto& [name, file] : model.run.source.files()) {
    if (file.state == store::SourceState::kKept) continue;
    if (!any) html.leaf("h2", "Source that is not shown");
    any = true;
    std::string state(store::name(file.state));
    if (file.state == store::SourceState::kChanged) state = "was changed after the run began";
    if (file.state == store::SourceState::kGone) state = "is gone";
    if (file.state == store::SourceState::kUnreadable) state = "cannot be read";
    if (file.state == store::SourceState::kNotText) state = "is not text";
    if (file.state == store::SourceState::kTooLarge) state = "is too large";
    const auto line = html.element("p");
    html.leaf("code", name);
    html.text(" " + state);
  }
}

}  // namespace

std::string html_text(const Model& model) {
  Html html;
  html.trusted("<!DOCTYPE html>\n");
  {
    const auto page = html.element("html", {{"lang", "en"}});
    write_head(html, model);
    const auto body = html.element("body");
    write_header(html, model);
    const auto main = html.element("main");
    write_alerts(html, model);
    write_findings(html, model);
    write_totals(html, model);
    write_in_brief(html, model);
    write_graph(html, model);
    write_charts(html, model);
    write_sites(html, model);
    write_layers(html, model);
    write_gpu(html, model);
    write_modes(html, model);
    write_protected(html, model);
    write_regions(html, model);
    write_processes(html, model);
    write_sources(html, model);
  }
  return html.take();
}

}  // namespace castscope::report

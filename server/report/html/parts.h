// The parts of the page (page.cc).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/report/model/model.h"
#include "server/report/text/html_writer.h"

namespace castscope::report {

// The HTML that is written so far, and the sections that the list of contents has to name.
struct Page {
  struct Entry {
    std::string id, title;
    bool printed = true;
  };
  Html html;
  std::vector<Entry> contents;
};

// Paper is for what people read: the rest of the page is for looking things up, and stays on the screen.
enum class OnPaper { kYes, kNo };

// A section while it is written: its heading, which the list of contents leads to, and its end.
class [[nodiscard]] Section {
 public:
  Section(Page& page, const std::string& id, const std::string& title, OnPaper on_paper = OnPaper::kYes);

 private:
  const Html::Scope scope_;
};

// A finding that has a card of its own; `number` counts all findings, by what they are worth.
struct ShownFinding {
  std::size_t number = 0;
  const rules::Finding* finding = nullptr;
};
// Of many findings the first of each rule.
std::vector<ShownFinding> shown_findings(const Model&);

void write_first_screen(Html&, const Model&);  // what went wrong with the run, the verdict, totals
void write_findings(Page&, const Model&);
void write_modules(Page&, const Model&);  // where casts are, as a flame view
void write_cache(Page&, const Model&);
void write_charts(Page&, const Model&);  // step by step
void write_costs(Page&, const Model&);
void write_sites(Page&, const Model&);
void write_graph(Page&, const Model&);  // of a step's operators
void write_layers(Page&, const Model&);
void write_gpu(Page&, const Model&);
void write_modes(Page&, const Model&);
void write_protected(Page&, const Model&);  // arguments that annotations and policies keep from being cast
void write_regions(Page&, const Model&);
void write_processes(Page&, const Model&);

}  // namespace castscope::report

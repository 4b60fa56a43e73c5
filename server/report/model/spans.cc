#include "server/report/model/spans.h"

#include <sstream>
#include <utility>

#include "server/report/text/words.h"

namespace castscope::report {

std::vector<Span> spans_of(const store::Process& process) {
  std::vector<Span> spans;
  for (const auto& [name, value] : process.attributes) {
    Span span;
    std::istringstream text(value);
    if (name == "span" && text >> span.begin_ns >> span.end_ns >> span.first_step >> span.last_step)
      spans.push_back(span);
  }
  return spans;
}

std::string partly_watched(const store::Process& process) {
  if (process.attribute("partly_watched").empty()) return "";
  const store::Gauges& g = process.gauges;
  const std::string open = g.span_since_ns != 0 ? ", beside the one that was open at the end" : "";
  return "process " + std::to_string(process.info.pid) + " was watched in " + counted(g.spans, "span", "spans") +
         ", for " + duration(g.watched_ns) + open + ": what it cast at other times is not in this run";
}

std::string partly_watched(const store::RunData& data) {
  std::size_t processes = 0;
  std::uint64_t spans = 0, ns = 0;
  std::string of_one;
  for (const store::Process& process : data.processes) {
    std::string sentence = partly_watched(process);
    if (sentence.empty()) continue;
    of_one = std::move(sentence);
    ++processes;
    spans += process.gauges.spans;
    ns += process.gauges.watched_ns;
  }
  if (processes < 2) return of_one;
  return counted(processes, "process was", "processes were") + " watched in " + counted(spans, "span", "spans") +
         ", for " + duration(ns) + " together: what they cast at other times is not in this run";
}

}  // namespace castscope::report

#include "server/cli/serving/metrics.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/cli/recording/descriptors.h"

namespace castscope::cli {
namespace {

// The exposition format, version 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/
class Text {
 public:
  void counter(const char* name, const char* help, std::uint64_t value) { one(name, "counter", help, value); }
  void gauge(const char* name, const char* help, std::uint64_t value) { one(name, "gauge", help, value); }
  void head(const char* name, const char* type, const char* help) {
    absl::StrAppend(&text_, "# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
  }
  void sample(const std::string& name_and_labels, const std::string& value) {
    absl::StrAppend(&text_, name_and_labels, " ", value, "\n");
  }
  std::string take() { return std::move(text_); }

 private:
  void one(const char* name, const char* type, const char* help, std::uint64_t value) {
    head(name, type, help);
    sample(name, absl::StrCat(value));
  }
  std::string text_;
};

// Names of tokens have no character that a label's value would have to escape (server/admission/tokens.cc).
std::string of_sender(const std::string& sender) {
  return sender.empty() ? "" : absl::StrCat("{sender=\"", sender, "\"}");
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t whole = 0, resident = 0;
  statm >> whole >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// The names are those that Prometheus' own clients use:
// https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics
void add_own_cost(Text& text) {
  static const auto started = std::chrono::system_clock::now();
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  text.head("process_cpu_seconds_total", "counter", "CPU time that the collector has used.");
  text.sample("process_cpu_seconds_total",
              absl::StrFormat("%.3f", seconds_of(use.ru_utime) + seconds_of(use.ru_stime)));
  text.gauge("process_resident_memory_bytes", "Memory of the collector that is in RAM.", resident_bytes());
  text.gauge("process_open_fds", "Files and connections that the collector has open.", descriptors_in_use());
  text.gauge("process_max_fds", "The most that it may have open.", descriptor_limit());
  text.head("process_start_time_seconds", "gauge", "When metrics were first asked for, in seconds since 1970.");
  const std::chrono::duration<double> since = started.time_since_epoch();
  text.sample("process_start_time_seconds", absl::StrFormat("%.3f", since.count()));
}

}  // namespace

void Metrics::taken(const ingest::Taken& taken) {
  ++messages_;
  bytes_ += taken.bytes;
  events_ += taken.events;
  events_dropped_ += taken.events_dropped;
}

void Metrics::found(const std::vector<store::Finding>& findings) {
  const std::lock_guard lock(mutex_);
  for (const store::Finding& finding : findings) ++findings_[{finding.rule, finding.severity}];
}

std::string Metrics::text(const Now& now) const {
  Text text;
  text.head("castscope_build_info", "gauge", "The collector's version.");
  text.sample(absl::StrCat("castscope_build_info{version=\"", now.version, "\"}"), "1");
  text.counter("castscope_runs_begun_total",
               "Runs that were opened, those that an earlier collector left open included.", runs_begun);
  text.counter("castscope_runs_finished_total", "Runs that were closed when all their relays had said goodbye.",
               runs_finished);
  text.counter("castscope_runs_lost_total", "Runs that were closed without a goodbye.", runs_lost);
  text.counter("castscope_runs_removed_total", "Runs that the retention removed.", runs_removed);
  text.gauge("castscope_open_runs", "Runs that are going on.", now.open_runs);
  text.gauge("castscope_open_streams", "Relays that are connected.", now.open_streams);
  text.counter("castscope_messages_total", "Messages of relays that were taken.", messages_);
  text.counter("castscope_received_bytes_total", "Bytes of these messages.", bytes_);
  text.counter("castscope_events_received_total", "Single events that were taken.", events_);
  text.counter("castscope_events_dropped_total", "Single events that processes dropped; counts do not depend on them.",
               events_dropped_);
  text.head("castscope_backlog_bytes", "gauge",
            "What still waits at relays that were away, in memory or in their spools, as they say, by sender.");
  for (const auto& [sender, bytes] : now.backlog_bytes)
    text.sample(absl::StrCat("castscope_backlog_bytes", of_sender(sender)), absl::StrCat(bytes));
  text.counter("castscope_streams_refused_total", "Streams that were refused.", streams_refused);
  text.counter("castscope_wrong_tokens_total", "Lines of the audit log: wrong tokens, and tokens that may not do that.",
               wrong_tokens);
  text.counter("castscope_troubles_total", "Times that a run could not be kept for a while, as on a full disk.",
               troubles);
  text.gauge("castscope_folder_free_bytes", "Room on the disk of the folder.", now.free_bytes);
  text.head("castscope_findings_total", "counter", "Findings of runs that have ended.");
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, count] : findings_)
      text.sample(absl::StrCat("castscope_findings_total{rule=\"", key.first, "\",severity=\"", key.second, "\"}"),
                  absl::StrCat(count));
  }
  add_own_cost(text);
  return text.take();
}

}  // namespace castscope::cli

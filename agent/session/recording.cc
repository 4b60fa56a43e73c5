#include "agent/session/recording.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "agent/lanes/roll.h"
#include "agent/lanes/segment_file.h"
#include "agent/wiring/features.h"

namespace castscope::agent {
namespace {

std::mutex* g_make_recording = new std::mutex;  // replaced in a forked child, where its holder may not exist

// Made when the agent starts, with the rights and descriptors of that moment; it takes no memory until the first event.
// The process that it belongs to takes it out.
std::atomic<lanes::SegmentFile*> g_prepared_file{nullptr};
struct stat g_root;  // root of the file system at that moment

// The child has PyTorch's cache as it was at the fork. The parent's goes on changing, so its counts are read before.
std::atomic<std::uint64_t> g_cache_entries{0}, g_cache_bytes{0};

void inherit_cache(lanes::SegmentHeader& h) {
  h.cache_entries = h.cache_peak_entries = g_cache_entries.load();
  h.cache_bytes = h.cache_peak_bytes = g_cache_bytes.load();
}

// The site of conversions with other causes than autocast that have no counter of their own: nothing else is known of
// them.
std::uint32_t define_other_site(Definitions& d) {
  lanes::SiteDefinition site{};
  site.why = lanes::WhyNotCached::kNotAutocast;
  site.from = site.to = 0xff;  // no dtype
  return d.site(site);
}

// The job's first process has ended and its report is written: nobody reads what comes now. It looks the same in a
// process that has changed its root.
bool run_is_over() {
  struct stat root {};
  if (access(g_process.preload->run_directory, F_OK) == 0 || errno != ENOENT || stat("/", &root) != 0) return false;
  return root.st_dev == g_root.st_dev && root.st_ino == g_root.st_ino;
}

lanes::SegmentWriter* make_segment(std::string* error) {
  lanes::SegmentWriter::Options options;
  options.directory = g_process.preload->run_directory;
  // Helpers forked from a training process (DataLoader workers) rarely cast.
  if (g_process.forked) options.ring_events = 1u << 12;
  if (const char* events = std::getenv("CASTSCOPE_RING")) {
    const unsigned long n = std::strtoul(events, nullptr, 10);
    if (n >= lanes::kSmallestRingEvents && n <= (1u << 18) && (n & (n - 1)) == 0)
      options.ring_events = static_cast<std::uint32_t>(n);
  }
  if (run_is_over()) {
    *error = options.directory + " is gone";
    return nullptr;
  }
  std::unique_ptr<lanes::SegmentFile> prepared(g_prepared_file.exchange(nullptr));
  return lanes::SegmentWriter::create(options, error, std::move(prepared));
}

}  // namespace

void prepare_recording() {
  std::string unused;  // it is tried again at the first event, and said then
  stat("/", &g_root);
  g_prepared_file =
      lanes::SegmentFile::create(g_process.preload->run_directory, lanes::kMaxSegmentBytes, &unused).release();
}

void remove_prepared_recording() {
  if (const lanes::SegmentFile* unused = g_prepared_file.exchange(nullptr)) unused->remove();
}

void recording_fork_begins() {
  Recording* r = g_process.recording.load();
  if (r == nullptr) return;
  g_cache_entries = r->segment.header().cache_entries.load();
  g_cache_bytes = r->segment.header().cache_bytes.load();
}

void recording_child_begins() {
  g_process.recording.store(nullptr);
  g_prepared_file = nullptr;  // it is the parent's
  g_process.forked = true;
  log_line("goes on in a forked child");
  g_make_recording = new std::mutex;
}

Recording* make_recording() {
  std::lock_guard lock(*g_make_recording);
  if (Recording* r = g_process.recording.load()) return r;
  if (g_process.stopped.load()) return nullptr;
  std::string error;
  lanes::SegmentWriter* segment = make_segment(&error);
  log_line("the first event: %s", segment == nullptr ? error.c_str() : segment->path().c_str());
  if (segment == nullptr) {
    step_aside((error + "; this process is not recorded").c_str());
    return nullptr;
  }
  // Only now: a segment without a first event is nothing that anybody could miss.
  g_process.preload->call(CASTSCOPE_CALL_SEGMENT, segment->number(), segment->header().start_ticks);
  auto* r = new Recording(g_process.python, *segment);
  segment->set_other_site(define_other_site(r->definitions));
  g_features.process_is_described(*r);
  if (g_process.forked && !g_process.keeps_casting) inherit_cache(segment->header());
  g_features.span_begins(*r);
  g_process.recording.store(r, std::memory_order_release);
  g_features.recording_begins(r->definitions);
  return r;
}

}  // namespace castscope::agent

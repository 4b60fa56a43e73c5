// A job for the fault campaign, which starts in milliseconds: `castscope run -- replayed_job PROGRESS CASTS PER_SECOND
// EXIT` is the traced process itself, without PyTorch. It counts its casts in the file PROGRESS, 64 bits, right after
// it has counted each for castscope, so that the truth outlives any death of it, to one cast. Where its ring is full,
// it drops the event and counts that, as the agent does.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "agent/lanes/event_views.h"
#include "agent/lanes/lane_writer.h"
#include "agent/lanes/segment_writer.h"

namespace castscope::lanes {
namespace {

constexpr std::uint32_t kSite = 1;

template <typename T>
void define(SegmentWriter& segment, DefinitionKind kind, std::uint32_t id, const T& value) {
  segment.define(kind, id, &value, sizeof value);
}

void define_code(SegmentWriter& segment) {
  segment.define(DefinitionKind::kString, 1, "train.py", 8);
  define(segment, DefinitionKind::kCode, 1, CodeDefinition{1, 1, 1});
  struct {
    StackDefinition head;
    Frame frame;
  } const stack{{1, 0}, {1, 7}};
  define(segment, DefinitionKind::kStack, 1, stack);
  SiteDefinition site{};
  site.stack = 1;
  site.cause = Cause::kAutocast;
  define(segment, DefinitionKind::kSite, kSite, site);
}

std::atomic<std::uint64_t>* map_progress(const char* path) {
  const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof(std::uint64_t)) != 0) return nullptr;
  void* const at = mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::atomic<std::uint64_t>*>(at);
}

void cast(LaneWriter& writer, Counter& counter) {
  LaneWriter::add(counter.casts, 1);
  Event* const event = writer.begin_event();  // null where there is no room: the drop is counted
  if (event == nullptr) return;
  *event = Event{};
  event->time = writer.now();
  event->kind = EventKind::kCast;
  event->site = kSite;
  writer.publish();
}

int work(const char* directory, char** arguments) {
  std::atomic<std::uint64_t>* const progress = map_progress(arguments[1]);
  std::string error;
  const std::unique_ptr<SegmentWriter> segment(
      SegmentWriter::create({.directory = directory, .ring_events = 1024}, &error));
  if (progress == nullptr || segment == nullptr) {
    std::fprintf(stderr, "replayed_job: %s\n", progress == nullptr ? "no progress file" : error.c_str());
    return 1;
  }
  define_code(*segment);
  Lane* const lane = segment->acquire_lane(static_cast<std::uint32_t>(getpid()));
  LaneWriter writer(*segment, *lane);
  Counter* const counter = segment->new_counter(lane, kSite);
  const std::uint64_t casts = std::strtoull(arguments[2], nullptr, 10);
  const double per_second = std::strtod(arguments[3], nullptr);
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < casts; ++i) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(static_cast<double>(i) / per_second));
    cast(writer, *counter);
    progress->store(i + 1, std::memory_order_release);
  }
  const int status = std::atoi(arguments[4]);
  segment->mark_end(EndMark::kExited, status + 1);
  return status;
}

}  // namespace
}  // namespace castscope::lanes

int main(int argc, char** argv) {
  const char* const directory = std::getenv("CASTSCOPE_RUN");
  if (argc == 5 && directory != nullptr) return castscope::lanes::work(directory, argv);
  std::fputs("usage, under castscope run: replayed_job PROGRESS CASTS PER_SECOND EXIT\n", stderr);
  return 2;
}

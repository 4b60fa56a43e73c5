#include "server/relay/drainer.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/lanes/segment_reader.h"

namespace castscope::relay {
namespace {

constexpr char kSuffix[] = ".lanes";
// As often as the relay looks at all: the way in which a process ended can be read only until its parent has reaped it.
constexpr std::chrono::milliseconds kLivenessInterval{20};
// The kernel needs a millisecond to list the mappings of a large process.
constexpr std::chrono::milliseconds kMapsInterval{500};
// A process that still runs when the relay stops may write as fast as we read. Its rings of two blocks each hold all
// that it had written by then; the third round is for what an earlier one leaves.
constexpr int kMostRoundsOfRunning = 3;

// "123-0.lanes" → 0. Writers make no other names.
std::optional<std::uint32_t> number_in(const std::string& file) {
  const std::size_t dash = file.find('-');
  if (!absl::EndsWith(file, kSuffix) || dash == std::string::npos) return std::nullopt;
  const std::string number = file.substr(dash + 1, file.size() - dash - sizeof kSuffix);
  if (number.empty() || number.size() > 9 || number.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return static_cast<std::uint32_t>(std::stoul(number));
}

}  // namespace

bool Drainer::alive(const Watched& watched) const {
  const lanes::SegmentReader& reader = watched.source->reader();
  if (watched.left_by_exec || replaced(watched)) return false;
  return is_alive(reader.pid(), reader.start_ticks()) || (is_job(watched) && !job_ended_);
}

bool Drainer::is_job(const Watched& watched) const {
  const lanes::SegmentReader& reader = watched.source->reader();
  return job_pid_ != 0 && reader.pid() == job_pid_ && reader.start_ticks() == job_start_ticks_;
}

// exec keeps pid and start time, and runs no more code of the old image: the new image leaves a file that says so
// (agent/preload/run_directory.c). A segment that begins after that belongs to the new image.
bool Drainer::replaced(const Watched& watched) const {
  struct stat mark {};
  if (stat(absl::StrCat(directory_, "/", watched.source->reader().pid(), ".replaced").c_str(), &mark) != 0)
    return false;
  const auto marked_ns = static_cast<std::uint64_t>(mark.st_mtim.tv_sec) * 1'000'000'000 +
                         static_cast<std::uint64_t>(mark.st_mtim.tv_nsec);
  return marked_ns >= watched.source->reader().begin_realtime_ns();
}

// A program without the preload library (static, or started without LD_PRELOAD) leaves no such file, but it does not
// map our library either. A program that ends before we look is not noticed.
void Drainer::look_for_exec(Watched& watched, Clock::time_point now) {
  if (now < watched.next_look_at_maps) return;
  watched.next_look_at_maps = now + kMapsInterval;
  const lanes::SegmentReader& reader = watched.source->reader();
  if (has_mapped(reader.pid(), absl::StrCat("/", watched.file))) return;
  watched.left_by_exec = is_alive(reader.pid(), reader.start_ticks());  // if not, it has ended since
}

void Drainer::find_segments(Clock::time_point now) {
  roll_call_.look(now);
  DIR* directory = opendir(directory_.c_str());
  if (directory == nullptr) return;
  while (const dirent* entry = readdir(directory)) {
    const std::string file = entry->d_name;
    const std::optional<std::uint32_t> number = number_in(file);
    if (number.has_value() && !known_files_.contains(file)) open_segment(file, *number);
  }
  closedir(directory);
}

void Drainer::open_segment(const std::string& file, std::uint32_t number) {
  std::unique_ptr<lanes::SegmentReader> reader;
  std::string error;
  const auto outcome = lanes::SegmentReader::open(directory_ + "/" + file, &reader, &error);
  if (outcome == lanes::SegmentReader::Outcome::kNotReady) return;
  known_files_.insert(file);
  roll_call_.found(file);
  if (outcome == lanes::SegmentReader::Outcome::kRefused) {
    unreadable_.emplace(file, error);
    return;
  }
  const std::string key = absl::StrCat(key_, "/", reader->pid(), "/", reader->start_ticks(), "/", number);
  const std::uint64_t id = next_source_++;
  Watched& watched = watched_[id];
  watched.source = std::make_unique<SegmentSource>(id, key, host_, std::move(reader), event_interval_, redaction_);
  watched.file = file;
  const lanes::SegmentReader& open = watched.source->reader();
  watched.end_watch = std::make_unique<EndWatch>(open.pid(), open.start_ticks());
  if (!is_alive(open.pid(), open.start_ticks())) watched.source->set_writer_gone();
}

void Drainer::wait_for_company(Clock::duration event_interval) {
  if (std::exchange(event_interval_, event_interval) == event_interval) return;
  for (auto& [id, watched] : watched_) watched.source->wait_for_company(event_interval);
}

SegmentSource::Drained Drainer::drain(Clock::time_point now, bool take_events) {
  SegmentSource::Drained all;
  for (auto& [id, watched] : watched_) {
    if (watched.ended) continue;
    const SegmentSource::Drained one = watched.source->drain(now, take_events);
    all.events += one.events;
    all.busy = all.busy || one.busy;
    all.batch_full = all.batch_full || one.batch_full;
  }
  events_ += all.events;
  return all;
}

void Drainer::flush(bool whole, Clock::time_point now) {
  for (auto& [id, watched] : watched_)
    if (!watched.ended && (whole || watched.source->has_block(now)))
      push(watched.source->make_batches(SegmentSource::End::kNone, now));
  if (whole && !ask_for_flush()) outbox_->ask();
}

void Drainer::push(std::vector<SegmentSource::Made> made) {
  for (SegmentSource::Made& one : made) {
    unflushed_ = one.message->batch().process_key();
    outbox_->push(std::move(one.message), std::move(one.receipts));
  }
}

// Pushes an empty batch that requests a flush. Returns false when there is nothing to flush.
bool Drainer::ask_for_flush() {
  if (unflushed_.empty()) return false;
  auto message = std::make_unique<v1::RelayMessage>();
  message->mutable_batch()->set_process_key(std::exchange(unflushed_, {}));
  message->mutable_batch()->set_flush(true);
  outbox_->push(std::move(message), {});
  return true;
}

bool Drainer::tell_ends(Clock::time_point now, bool deliver) {
  bool all_ended = true;
  for (auto& [id, watched] : watched_) {
    if (watched.ended) continue;
    const bool marked = watched.source->reader().end_mark() != lanes::EndMark::kRunning;
    const bool look = marked || now >= watched.next_look;
    if (look) watched.next_look = now + kLivenessInterval;
    if (!marked) look_for_exec(watched, now);
    // While the outbox is full, the data of a dead process stay in its segment, where they are safest.
    if (!look || alive(watched) || (deliver && outbox_->full()))
      all_ended = false;
    else
      tell_end(watched, false, deliver);
  }
  return all_ended;
}

void Drainer::tell_remaining_ends(bool deliver) {
  for (auto& [id, watched] : watched_)
    if (!watched.ended)
      tell_end(watched, watched.source->reader().end_mark() == lanes::EndMark::kRunning && alive(watched), deliver);
}

// The end is what the segment's end mark says or, for a process without a mark, what the kernel says.
void Drainer::set_end(Watched& watched, bool still_running) {
  SegmentSource& source = *watched.source;
  if (still_running) return source.set_end(ProcessEnd::kRunning);
  if (source.reader().end_mark() == lanes::EndMark::kExited) return source.set_end(ProcessEnd::kExited);
  if (watched.left_by_exec || replaced(watched)) return source.set_end(ProcessEnd::kReplaced);
  if (is_job(watched) && job_ended_)
    return source.set_end(job_signal_ != 0 ? ProcessEnd::kVanished : ProcessEnd::kExited, job_exit_status_);
  const std::optional<int> status = watched.end_watch->wait_status();
  if (!status.has_value()) return source.set_end(ProcessEnd::kVanished);
  if (WIFSIGNALED(*status)) return source.set_end(ProcessEnd::kVanished, 128 + WTERMSIG(*status));
  // The process left in a way that runs no handlers, or as another program that ended soon: it was not killed.
  source.set_end(ProcessEnd::kExited, WEXITSTATUS(*status));
}

// A process that is gone writes no more: its segment already holds everything that it will ever hold.
void Drainer::tell_end(Watched& watched, bool still_running, bool deliver) {
  SegmentSource& source = *watched.source;
  set_end(watched, still_running);
  watched.ended = !still_running;
  if (!still_running) source.set_writer_gone();
  if (!deliver) return;
  const Clock::time_point now = Clock::now();
  for (int round = 0; !still_running || round < kMostRoundsOfRunning; ++round) {
    const SegmentSource::Drained drained = source.drain(now);
    events_ += drained.events;
    if (!drained.batch_full) break;
    push(source.make_batches(SegmentSource::End::kNone, now));
  }
  push(source.make_batches(still_running ? SegmentSource::End::kNotSeen : SegmentSource::End::kSeen, now));
  ask_for_flush();
}

void Drainer::handle_answers() {
  for (const Receipt& receipt : outbox_->take_acknowledged()) {
    const auto it = watched_.find(receipt.source);
    if (it == watched_.end()) continue;
    it->second.source->acknowledged(receipt);
    it->second.removable = it->second.removable || receipt.last;
  }
  for (const auto& [process, sentence] : outbox_->take_rejections())
    for (auto& [id, watched] : watched_)
      if (watched.source->key() == process) watched.source->silence(sentence);
  if (outbox_->introductions_wanted()) outbox_->introduce(introductions());
  remove_finished();
}

std::vector<Outbox::Message> Drainer::introductions() {
  std::vector<Outbox::Message> messages;
  for (auto& [id, watched] : watched_) {
    if (!watched.source->introduced()) continue;
    for (Outbox::Message& message : watched.source->introduction()) messages.push_back(std::move(message));
  }
  return messages;
}

void Drainer::remove_finished() {
  for (auto it = watched_.begin(); it != watched_.end();) {
    Watched& watched = it->second;
    // After exec the next image takes the next free number: this image's number must stay taken while the process
    // lives.
    const lanes::SegmentReader& reader = watched.source->reader();
    const bool name_in_use = watched.removable && is_alive(reader.pid(), reader.start_ticks());
    if (!watched.removable || name_in_use || !watched.source->problem().empty()) {
      ++it;
      continue;
    }
    finished_.push_back(watched.source->summary());
    finished_progress_.casts += watched.source->totals().casts;
    finished_progress_.hits += watched.source->totals().hits;
    finished_progress_.dropped += finished_.back().dropped;
    if (remove_) {
      unlink((directory_ + "/" + watched.file).c_str());
      known_files_.erase(watched.file);  // a later process may get the same pid and thus the same name
    }
    it = watched_.erase(it);
  }
}

std::vector<Missing> Drainer::missing() {
  std::vector<Missing> all = roll_call_.end();
  for (const auto& [id, watched] : watched_)  // segments that were read whole, and are gone, had no damage
    if (std::string damage = watched.source->damage(); !damage.empty())
      all.push_back(
          {.kind = Missing::Kind::kUnrecorded, .process = watched.source->key(), .sentence = std::move(damage)});
  return all;
}

Progress Drainer::progress() {
  Progress now = finished_progress_;
  now.processes = static_cast<std::uint32_t>(watched_.size() + finished_.size());
  now.events = events_;
  now.unacknowledged_bytes = outbox_->bytes();
  for (auto& [id, watched] : watched_) {
    now.running += watched.ended ? 0 : 1;
    now.casts += watched.source->totals().casts;
    now.hits += watched.source->totals().hits;
    now.dropped += watched.source->totals().dropped;
  }
  return now;
}

std::vector<ProcessSummary> Drainer::summaries() {
  std::vector<ProcessSummary> all = finished_;
  for (auto& [id, watched] : watched_) all.push_back(watched.source->summary());
  for (const auto& [file, why] : unreadable_) {
    all.emplace_back().key = file;
    all.back().problem = why;
  }
  return all;
}

}  // namespace castscope::relay

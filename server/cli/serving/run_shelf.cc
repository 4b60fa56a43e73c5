#include "server/cli/serving/run_shelf.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/cli/recording/conclusion.h"
#include "server/cli/recording/descriptors.h"
#include "server/cli/recording/recording.h"
#include "server/cli/serving/collected_run.h"
#include "server/cli/serving/retention.h"
#include "server/log/log.h"
#include "server/store/read/run_heading.h"
#include "server/store/run/completeness.h"
#include "server/utf8/utf8.h"
#include "server/web/runs/file_run.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostOfCommand = 200;
constexpr std::size_t kDescriptorsOfRun = 4;      // three for SQLite, one for the claim
constexpr std::size_t kDescriptorsLeftOver = 64;  // for reports, readers and connections

void log_finding(const LogLine& line) {
  constexpr log::Level kLevels[] = {log::Level::kError, log::Level::kWarning, log::Level::kInfo};
  log::write(kLevels[static_cast<std::size_t>(line.level)], line.text);
}

void log_of_run(log::Level level, const std::string& id, const std::string& text) {
  log::write(level, absl::StrCat("run ", id, text), {{"run", id}});
}

// A job may have thousands of processes that all lack the same.
void log_what_is_missing(const std::string& id, const std::vector<store::Incomplete>& missing) {
  constexpr std::size_t kMost = 10;
  for (std::size_t i = 0; i < std::min(missing.size(), kMost); i++)
    log_of_run(log::Level::kWarning, id, absl::StrCat(" is not complete: ", missing[i].sentence));
  if (missing.size() > kMost)
    log_of_run(log::Level::kWarning, id,
               absl::StrCat(" is not complete for ", missing.size() - kMost, " more reasons, which its report tells"));
}

absl::Status has_descriptors() {
  const std::size_t limit = descriptor_limit();
  if (descriptors_in_use() + kDescriptorsOfRun + kDescriptorsLeftOver <= limit) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("the collector may have ", limit,
                                             " files open (`ulimit -n`), and needs them for the runs that it has: this "
                                             "one waits until one of those ends"));
}

std::string in_other_hands(const Output& output) {
  return absl::StrCat(output.run_file(), " is being written by another castscope: send a run to one collector");
}

std::uint64_t size_of(const std::string& file) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  return error ? 0 : size;
}

// What this collector knows comes first, and what the sender says is quoted: nobody writes a sentence of ours.
std::string introduction(const ingest::RunOpening& run, const Output& output, bool known) {
  return absl::StrCat(run.sender.empty() ? " " : absl::StrCat(", sent by ", run.sender, ", "),
                      known ? "goes on in " : "begins in ", output.run_file(), ": ",
                      utf8::quoted(absl::StrJoin(run.command, " "), kMostOfCommand), ", in ", utf8::quoted(run.cwd),
                      ", from ", utf8::quoted(run.host));
}

}  // namespace

RunShelf::RunShelf(const ServeConfig& config, std::shared_ptr<web::Runs> viewed, Metrics* metrics)
    : path_(config.folder),
      headings_(std::make_shared<HeadingIndex>(config.folder, realtime_ns)),
      kept_{.keep_all = config.keep == "all", .syncs_commits = config.fsync == "commit"},
      viewed_(std::move(viewed)),
      metrics_(metrics),
      quotas_(config.quotas, [this](const std::string& id) { return bytes_of(id); }),
      findings_(FindingsLogOptions{.log = log_finding}) {}

ingest::RunKeeper RunShelf::keeper() {
  ingest::RunKeeper keeper;
  keeper.open = [this](const ingest::RunOpening& run) { return open(run); };
  keeper.let_in = [this](const ingest::RunOpening& run) { let_in(run); };
  keeper.goes_on = [this](const std::string& id) { goes_on(id); };
  keeper.give_up = [this](const std::string& id, const absl::Status& why) { give_up(id, why); };
  keeper.close = [this](const std::string& id, const ingest::RunClosing& closing) { close(id, closing); };
  keeper.watched = [this](const std::string& id) { return watched(id); };
  keeper.events_wanted = [this](const std::string& id) { return quotas_.wanted(id); };
  keeper.taken = [this](const std::string& id, const ingest::Taken& taken) {
    metrics_->taken(taken);
    return quotas_.taken(id, taken);
  };
  return keeper;
}

store::ReadHeading RunShelf::read_heading() const {
  return [headings = headings_](const std::string& file) { return headings->read(file); };
}

// Called with the lock held.
CollectorFolder& RunShelf::folder() {
  if (!folder_) {
    const auto is_free = [](const std::string& stem) { return OutputClaim().take(stem); };
    for (const std::string& file : remove_stubs(path_, is_free))
      log::info(absl::StrCat(file, " was removed: a collector was killed when it made it, and no run is in it"));
    folder_.emplace(path_, read_heading());
    headings_->tidy();
    knows_folder_ = true;
  }
  return *folder_;
}

std::vector<std::string> RunShelf::look_into_folder() {
  const std::lock_guard lock(mutex_);
  return folder().unreadable();
}

// A file that has just changed may change again within the same tick of its file system's clock. Between two looks it
// settles.
void RunShelf::note_ended() {
  std::vector<std::string> files;
  {
    const std::lock_guard lock(mutex_);
    files = std::exchange(ended_before_, std::exchange(ended_, {}));
  }
  for (const std::string& file : files) (void)headings_->read(file);
}

std::vector<ingest::RunOpening> RunShelf::left_open() {
  const std::lock_guard lock(mutex_);
  std::vector<ingest::RunOpening> runs = folder().left_open();
  std::erase_if(runs, [this](const ingest::RunOpening& run) { return !OutputClaim().take(folder().place(run).stem); });
  return runs;
}

std::size_t RunShelf::open_runs() const {
  const std::lock_guard lock(live_mutex_);
  return files_.size();
}

absl::StatusOr<std::shared_ptr<store::RunSink>> RunShelf::open(const ingest::RunOpening& run) {
  const std::lock_guard lock(mutex_);
  if (const auto found = open_.find(run.id); found != open_.end()) return reopen(run.id, found->second);
  if (absl::Status status = folder_is_ours_(); !status.ok()) return cannot_be_kept(run.id, status);
  if (absl::Status status = has_descriptors(); !status.ok()) return cannot_be_kept(run.id, status);
  if (absl::Status status = leaves_some(run.sender); !status.ok()) return cannot_be_kept(run.id, status);
  const Output output = folder().place(run);
  if (const std::string why = why_not_taken(output.run_file()); !why.empty())
    return cannot_be_kept(run.id, absl::PermissionDeniedError(why));
  std::error_code error;
  const bool known = fs::exists(output.run_file(), error);
  // Before anything is written: what a stranger sends does not even open the file.
  const auto heading = store::read_heading(output.run_file());
  if (heading.ok() && !heading->start.owner.empty() && heading->start.owner != run.owner)
    return ingest::another_senders(run.id);
  const auto claim = std::make_shared<OutputClaim>();
  if (!claim->take(output.stem)) return cannot_be_kept(run.id, absl::UnavailableError(in_other_hands(output)));
  auto store = known ? store::RunStore::resume(output.run_file(), kept_)
                     : store::RunStore::create(output.run_file(), start_of(run), kept_);
  note_beginning(known, store.status());
  if (!store.ok()) return cannot_be_kept(run.id, store.status());
  log_of_run(log::Level::kInfo, run.id, introduction(run, output, known));
  Open& entry = open_[run.id];
  entry = {.store = std::shared_ptr<store::RunStore>(*std::move(store)),
           .shown = nullptr,
           .output = output,
           .claim = claim,
           .run = run,
           .file = web::FileIdentity(output.run_file())};
  // castscope.json and the source are on the job's machine: the job's settings and comments silence nothing here.
  const auto judge = std::make_shared<judging::RunJudge>(entry.store, rules::Settings());
  findings_.begin(run.id, judge);
  quotas_.opened(run);
  ++metrics_->runs_begun;
  return show(entry, judge, known);
}

std::string RunShelf::why_none_begins(Clock::time_point now) const {
  const std::lock_guard lock(live_mutex_);
  return now - none_began_at_ < kNoneBegins ? why_none_begins_ : "";
}

// A file that is there may have troubles of its own, such as damage, which say nothing about other runs. One that could
// not be made as a whole for want of room is there, too.
void RunShelf::note_beginning(bool known, const absl::Status& status) {
  if (known && !status.ok() && !absl::IsResourceExhausted(status)) return;
  const std::lock_guard live(live_mutex_);
  why_none_begins_ = std::string(status.message());
  none_began_at_ = Clock::now();
}

// One of several senders does not get the places of all. How many there are depends on what is open besides the runs,
// such as a connection for each of them.
absl::Status RunShelf::leaves_some(const std::string& sender) const {
  if (sender.empty()) return absl::OkStatus();
  const std::size_t limit = descriptor_limit(), of_runs = open_.size() * kDescriptorsOfRun;
  const std::size_t in_use = descriptors_in_use();
  const std::size_t others = in_use - std::min(in_use, of_runs) + kDescriptorsLeftOver;
  const std::size_t most = (limit - std::min(limit, others)) / kDescriptorsOfRun * 3 / 4;
  const auto has = static_cast<std::size_t>(
      std::ranges::count_if(open_, [&sender](const auto& one) { return one.second.run.sender == sender; }));
  if (has < most) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("the sender \"", sender, "\" has ", has,
                                             " runs open already, and leaves the other places to others: this one "
                                             "waits until one of those ends"));
}

std::shared_ptr<store::RunSink> RunShelf::show(Open& entry, const std::shared_ptr<judging::RunJudge>& judge,
                                               bool known) {
  const std::string file = entry.output.run_file();
  if (viewed_ != nullptr) {
    entry.shown = web::LiveRun::begin(viewed_->id_for(file), judge, start_of(entry.run), known, {});
    viewed_->put(entry.shown);
  }
  const std::lock_guard live(live_mutex_);
  files_[entry.run.id] = file;
  if (entry.shown == nullptr) return entry.store;
  live_[entry.run.id] = entry.shown;
  return entry.shown;
}

absl::StatusOr<std::shared_ptr<store::RunSink>> RunShelf::reopen(const std::string& id, const Open& entry) {
  if (absl::Status status = entry.store->reopen(); !status.ok()) return cannot_be_kept(id, status);
  if (entry.shown != nullptr) return entry.shown;
  return entry.store;
}

bool RunShelf::watched(const std::string& id) {
  const std::lock_guard lock(live_mutex_);
  const auto found = live_.find(id);
  return found != live_.end() && found->second->watched(Clock::now());
}

std::uint64_t RunShelf::bytes_of(const std::string& id) const {
  const std::lock_guard lock(live_mutex_);
  const auto found = files_.find(id);
  return found == files_.end() ? 0 : size_of(found->second) + size_of(found->second + "-wal");
}

void RunShelf::look_after_troubles() {
  const std::lock_guard lock(mutex_);
  std::erase_if(troubles_, [this](const auto& trouble) {
    const auto open = open_.find(trouble.first);
    if (open == open_.end() || open->second.store->commits() == trouble.second) return false;
    log_of_run(log::Level::kInfo, trouble.first, absl::StrCat(" goes on in ", open->second.output.run_file()));
    return true;
  });
}

void RunShelf::look_after_files() {
  const std::lock_guard lock(mutex_);
  for (auto& [id, entry] : open_) {
    const std::string file = entry.output.run_file();
    if (entry.told_moved || entry.file.still_there(file)) continue;
    entry.told_moved = true;
    log_of_run(log::Level::kError, id,
               absl::StrCat(": ", file,
                            " was moved or deleted while the run goes on; it is written again at the run's "
                            "end. If the collector is killed before that, the run is not there"));
  }
}

std::vector<ingest::RunOpening> RunShelf::take_unconcluded() {
  const std::lock_guard lock(mutex_);
  return std::exchange(unconcluded_, {});
}

void RunShelf::remove_what_is_over(const Retention& kept, std::int64_t now_ns) {
  // Without the lock: a run that is opened meanwhile has its claim, or waits for this one's.
  for (const RemovedRun& run : cli::remove_what_is_over(path_, kept, now_ns, senders_, read_heading())) {
    {
      const std::lock_guard lock(mutex_);
      folder().forget(run.run_id, run.stem);
    }
    headings_->forget(Output{run.stem}.run_file());
    ++metrics_->runs_removed;
    log_of_run(
        log::Level::kInfo, run.run_id,
        absl::StrCat(" was removed, as the retention says: ", Output{run.stem}.run_file(), ", ", run.bytes, " bytes"));
  }
}

void RunShelf::let_in(const ingest::RunOpening& run) {
  quotas_.let_in(run);
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(run.id);
  if (found == open_.end() || found->second.run.sender == run.sender) return;
  found->second.run.sender = run.sender;
  log_of_run(log::Level::kInfo, run.id, absl::StrCat(" is sent by ", run.sender, " now"));
}

// The report of a run that had ended does not tell what comes now.
void RunShelf::goes_on(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(id);
  if (found != open_.end() && !is_taken_by_another(found->second.output, id)) forget_report(found->second.output);
}

// The file stays open: a disk gets room again.
void RunShelf::give_up(const std::string& id, const absl::Status& why) {
  const std::lock_guard lock(mutex_);
  (void)cannot_be_kept(id, why);
}

// Relays try again every few seconds. A trouble is said once, until something was kept.
absl::Status RunShelf::cannot_be_kept(const std::string& id, const absl::Status& why) {
  const auto open = open_.find(id);
  const std::uint64_t commits = open != open_.end() ? open->second.store->commits() : 0;
  const auto [known, is_new] = troubles_.try_emplace(id, commits);
  if (is_new || known->second != commits) {
    ++metrics_->troubles;
    log_of_run(log::Level::kError, id, absl::StrCat(" cannot be kept now: ", why.message(), "; its relays try again"));
  }
  known->second = commits;
  return why;
}

void RunShelf::close(const std::string& id, const ingest::RunClosing& closing) {
  if (leaves_open()) {
    ++left_;
    return;
  }
  Open entry;
  {
    const std::lock_guard lock(live_mutex_);
    live_.erase(id);
    files_.erase(id);
  }
  quotas_.closed(id);
  {
    const std::lock_guard lock(mutex_);
    auto found = open_.find(id);
    if (found == open_.end()) return;
    entry = found->second;
    open_.erase(found);
    troubles_.erase(id);
  }
  conclude_run(entry, closing);
}

void RunShelf::conclude_run(const Open& entry, const ingest::RunClosing& closing) {
  const std::string& id = entry.run.id;
  const store::RunEnd end = end_of(closing, *entry.store);
  auto concluded = conclude(*entry.store, end, entry.output, judging::Lines::kAsKept);
  if (concluded.ok()) {
    if (!concluded->moved.empty()) log_of_run(log::Level::kWarning, id, absl::StrCat(": ", concluded->moved));
    findings_.end(id, *concluded->run);
    {
      const std::lock_guard lock(mutex_);
      ended_.push_back(concluded->output.run_file());
    }
    metrics_->found(concluded->run->judgement.findings);
    ++(closing.farewell ? metrics_->runs_finished : metrics_->runs_lost);
    if (!concluded->no_report.empty()) log_of_run(log::Level::kWarning, id, absl::StrCat(": ", concluded->no_report));
    log_of_run(log::Level::kInfo, id,
               absl::StrCat(": ", concluded->output.run_file(),
                            concluded->no_report.empty() ? " and .json written" : " written", ending_of(end)));
    log_what_is_missing(id, store::what_is_missing(concluded->run->data));
  } else {
    log_of_run(log::Level::kError, id,
               absl::StrCat(" could not be closed: ", concluded.status().message(), "; it is tried again"));
    const std::lock_guard lock(mutex_);
    unconcluded_.push_back(entry.run);
  }
  if (entry.shown != nullptr)
    conclude_shown(entry, closing.farewell ? web::RunState::kFinished : web::RunState::kLost,
                   concluded.ok() ? concluded->run : nullptr);
}

// The newest runs stay in memory with all of their events; older ones are read from their files when somebody asks.
void RunShelf::conclude_shown(const Open& entry, web::RunState state, judging::JudgedRunPtr last) {
  constexpr std::size_t kStay = 4;
  entry.shown->concluded(state, std::move(last));
  const std::lock_guard lock(mutex_);
  concluded_.push_back(entry.shown);
  if (concluded_.size() <= kStay) return;
  const auto oldest = concluded_.front();
  concluded_.pop_front();
  if (viewed_->find(oldest->id()) == oldest)
    viewed_->put(std::make_shared<web::FileRun>(oldest->id(), oldest->file(),
                                                web::FileRunOptions{.read_heading = read_heading()}));
}

}  // namespace castscope::cli

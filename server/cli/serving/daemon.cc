#include "server/cli/serving/daemon.h"

#include <malloc.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/cli/recording/collector_folder.h"
#include "server/cli/recording/descriptors.h"
#include "server/cli/recording/recording.h"
#include "server/cli/serving/monitor.h"
#include "server/cli/serving/serve_check.h"
#include "server/cli/version.h"
#include "server/log/log.h"
#include "server/web/runs/file_run.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// How long a collector looks away between two looks at runs, files and the tokens.
constexpr std::chrono::seconds kLook{10};
// A killed relay sends no goodbye: its run is closed when no relay has come back for some time.
constexpr std::chrono::minutes kPatience{2};
constexpr std::chrono::minutes kBetweenRemovals{1};
constexpr std::chrono::hours kCredibleStep{24};
constexpr milliseconds kLastLines{300};
// At the collector's end, for a look that is under way. Whoever starts a collector and stops it finds the runs closed
// that an earlier one had left open.
constexpr milliseconds kLastLook{100}, kFirstLook{1000};
constexpr std::uint64_t kLeastRoom = 16u << 20;

std::chrono::nanoseconds clock_offset() {
  return std::chrono::nanoseconds(realtime_ns()) - steady_clock::now().time_since_epoch();
}

std::uint64_t free_bytes(const std::string& folder) {
  struct statvfs info {};
  return statvfs(folder.c_str(), &info) == 0 ? info.f_bavail * static_cast<std::uint64_t>(info.f_frsize) : 0;
}

[[noreturn]] void end_process() {
  log::finish(kLastLines);
  _exit(0);
}

// It is no reason to refuse: volumes of containers are often made like this, and have one user. What others put there
// is not taken.
void warn_of_writers(const std::string& folder) {
  struct stat info {};
  if (stat(folder.c_str(), &info) != 0 || (info.st_mode & S_IWOTH) == 0) return;
  log::warn(absl::StrCat("everybody may write to ", folder,
                         ", and can keep runs out of it, or this collector: `chmod o-w ", folder, "`"));
}

std::string page_token_file(const std::string& folder) { return (fs::path(folder) / ".castscope-web-token").string(); }

}  // namespace

Daemon::Daemon(const ServeConfig& config) : config_(config), tokens_(config), clock_offset_(clock_offset()) {}

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::start(const ServeConfig& given) {
  ServeConfig config = given;
  if (absl::Status status = check(config); !status.ok()) return status;
  umask(umask(0) | 077);  // runs hold command lines, paths and source: nobody else reads what this process writes
  std::error_code error;
  fs::create_directories(config.folder, error);
  if (error)
    return config.at("folder",
                     absl::PermissionDeniedError(absl::StrCat(config.folder, " cannot be made: ", error.message())));
  config.folder = fs::absolute(config.folder, error).string();
  if (config.log_format == "json") log::write_json();
  raise_descriptor_limit();
  std::unique_ptr<Daemon> daemon(new Daemon(config));  // which takes the signals before there is a thread
  log::write_behind();                                 // a log that nobody reads stops no run
  for (const auto step : {&Daemon::listen, &Daemon::show_runs, &Daemon::start_monitor})
    if (absl::Status status = (daemon.get()->*step)(); !status.ok()) return status;
  daemon->listen_to_signals();
  return daemon;
}

Daemon::~Daemon() { log::finish(kLastLines); }

absl::Status Daemon::listen() {
  absl::StatusOr<std::unique_ptr<CollectorLock>> lock = CollectorLock::take(config_.folder);
  if (!lock.ok()) return lock.status();
  lock_ = *std::move(lock);
  absl::StatusOr<admission::Tokens> tokens = tokens_.read();
  if (!tokens.ok()) return config_.at("tokens", tokens.status());
  door_ = std::make_shared<admission::Door>(*tokens, [this](const std::string& sentence) {
    ++metrics_.wrong_tokens;
    log::write(log::Level::kWarning, absl::StrCat("audit: ", sentence), {{"audit", "token"}});
  });
  if (!config_.web.empty()) runs_ = std::make_shared<web::Runs>();
  shelf_ = std::make_unique<RunShelf>(config_, runs_, &metrics_);
  shelf_->ask_before_runs([this] { return look_at_folder().ours; });
  shelf_->change_tokens(*tokens);
  ingest::Options options = listen_options(config_, door_);
  options.traffic = traffic_;
  options.refused = [this](const std::string& sentence) {
    ++metrics_.streams_refused;
    if (!sentence.empty()) tell_refused(sentence);
  };
  options.certificates_told = [](const std::string& sentence, bool is_trouble) {
    log::write(is_trouble ? log::Level::kError : log::Level::kInfo, sentence);
  };
  auto server = ingest::Server::start(options, shelf_->keeper());
  if (!server.ok()) return server.status();
  server_ = *std::move(server);
  log::info(absl::StrCat("collecting on ", server_->address(), " into ", config_.folder));
  warn_of_writers(config_.folder);
  return absl::OkStatus();
}

// Whoever reaches the collector can make it refuse as often as it likes.
void Daemon::tell_refused(const std::string& sentence) {
  constexpr int kMostInALook = 20;
  const int told = ++refusals_told_;
  if (told <= kMostInALook) log::warn(absl::StrCat("a relay was refused: ", sentence));
  if (told == kMostInALook) log::warn("further refusals are counted, and not logged, for ten seconds");
}

absl::Status Daemon::show_runs() {
  if (runs_ == nullptr) return absl::OkStatus();
  const web::FileRunOptions options{.read_heading = shelf_->read_heading()};
  runs_->watch_folder(config_.folder, [options](const std::string& id, const std::string& file) -> web::RunPtr {
    return why_not_taken(file).empty() ? std::make_shared<web::FileRun>(id, file, options) : nullptr;
  });
  const auto admits = [door = door_](const std::string& token) {
    // The page's server makes whoever gives a wrong token wait: it can give away such a one's place meanwhile.
    const auto at_once = [] { return true; };
    return door->asks() && door->admit(absl::StrCat("Bearer ", token), admission::Role::kSee, "the page", at_once).ok();
  };
  // A page keeps its address when the collector is started again.
  auto viewer = web::Viewer::on(config_.web, runs_, page_token_file(config_.folder), admits);
  if (!viewer.ok()) return viewer.status();
  viewer_ = *std::move(viewer);
  if (absl::Status status = viewer_->start(); !status.ok()) return status;
  // Logs are read by others, and who has the token can read every run.
  const std::string url = viewer_->url();
  log::info(absl::StrCat("runs can be watched at ", url.substr(0, url.find("/t/")), "/t/…/, where … is the token in ",
                         page_token_file(config_.folder)));
  return absl::OkStatus();
}

absl::Status Daemon::start_monitor() {
  if (config_.metrics.empty()) return absl::OkStatus();
  auto monitor = cli::start_monitor(
      config_.metrics, {.metrics = [this] { return metrics_text(); }, .trouble = [this] { return trouble(); }});
  if (!monitor.ok()) return monitor.status();
  monitor_ = *std::move(monitor);
  return absl::OkStatus();
}

void Daemon::listen_to_signals() {
  // Relays that are still there go on with the next collector, so it would be of no use to make whoever stops this one
  // wait for the reports of all of their runs.
  signals_.listen(milliseconds(1700), [this] {
    stopping_ = true;
    shelf_->leave_open_after(steady_clock::now() + milliseconds(1300));
  });
}

// Who comes for a run before the folder is known waits. A page and the tokens do not.
void Daemon::take_up_runs() {
  for (const std::string& sentence : shelf_->look_into_folder())
    log::warn(absl::StrCat(sentence, "; a run that goes on is not looked for in it"));
  for (ingest::RunOpening& run : shelf_->left_open())
    if (!shelf_->leaves_open()) server_->take_up(std::move(run));
  has_taken_up_ = true;
}

void Daemon::run_until_stopped() {
  look_after_runs_ = std::make_unique<PeriodicLook>(
      kLook, [this] { look_after_runs(); }, [this] { take_up_runs(); });
  for (;;) {
    const ServeSignals::Came came = signals_.wait(kLook);
    if (came == ServeSignals::Came::kStop) break;
    if (came == ServeSignals::Came::kReread) {
      log::info(config_.tokens.empty() ? "SIGHUP came, and the collector goes on: there is no file of tokens to read "
                                         "again; other settings need a restart"
                                       : "SIGHUP came: the tokens are read again; other settings need a restart");
    }
    try {
      // The quotas first: nobody is let in by a token whose quotas are not known.
      tokens_.look_again([this](const admission::Tokens& tokens) {
        shelf_->change_tokens(tokens);
        door_->change(tokens);
      });
      server_->end_unwelcome();
    } catch (const std::bad_alloc&) {
      log::warn("there was no memory to look at the tokens; it is tried again in ten seconds");
    }
    if (const std::size_t lost = log::lost_lines(); lost > lost_lines_)
      log::warn(absl::StrCat(lost - std::exchange(lost_lines_, lost), " lines of this log were lost: nobody read it"));
  }
  stop();
}

// If somebody put another folder in its place, the collector keeps others out of that.
Daemon::FolderLook Daemon::look_at_folder() {
  constexpr char kOpenRuns[] =
      "runs that had ended went with it, and those that are open are written again when they end";
  const std::lock_guard lock(lock_mutex_);
  const std::string trouble = lock_->folder_trouble();
  if (trouble.empty()) return {.trouble = std::string(lock_->restore_file().message()), .ours = absl::OkStatus()};
  absl::StatusOr<std::unique_ptr<CollectorLock>> other = CollectorLock::take(config_.folder);
  if (other.ok()) lock_ = *std::move(other);
  const std::string none_begins = absl::StrCat("no run begins now: ", other.status().message());
  return {.trouble = absl::StrCat(trouble, "; ", kOpenRuns, "; ",
                                  other.ok() ? "the collector goes on in this one" : none_begins),
          .ours = other.ok() ? absl::OkStatus() : absl::UnavailableError(none_begins)};
}

void Daemon::look_after_folder() {
  const std::string trouble = look_at_folder().trouble;
  if (trouble == folder_told_) return;
  if (!trouble.empty()) log::error(absl::StrCat(config_.folder, ": ", trouble));
  folder_told_ = trouble;
}

void Daemon::look_after_runs() {
  refusals_told_ = 0;
  look_after_folder();
  server_->close_abandoned(kPatience);
  shelf_->look_after_troubles();
  shelf_->look_after_files();
  shelf_->note_ended();
  for (ingest::RunOpening& run : shelf_->take_unconcluded()) server_->take_up(std::move(run));
  if (steady_clock::now() - retained_at_ >= kBetweenRemovals) apply_retention();
  malloc_trim(0);  // glibc keeps what many streams at once have used, in an arena for each of their threads
}

// A clock that steps by more than a day is not believed: it could make every run look old.
void Daemon::apply_retention() {
  retained_at_ = steady_clock::now();
  Retention kept = config_.retention;
  if (std::chrono::abs(clock_offset() - clock_offset_) > kCredibleStep && kept.days > 0) {
    if (!std::exchange(clock_told_, true))
      log::warn(
          "this machine's clock has stepped by more than a day: no run is removed for its age until the collector "
          "is started again");
    kept.days = 0;
  }
  shelf_->remove_what_is_over(kept, realtime_ns());
}

std::string Daemon::metrics_text() const {
  return metrics_.text({.open_runs = shelf_->open_runs(),
                        .open_streams = traffic_->streams,
                        .backlog_bytes = traffic_->backlog_bytes(),
                        .free_bytes = free_bytes(config_.folder),
                        .version = kVersion});
}

std::string Daemon::trouble() const {
  if (stopping_) return "the collector is stopping";
  if (!shelf_->knows_folder()) return "the runs of the folder are still being read";
  {
    const std::lock_guard lock(lock_mutex_);
    if (const std::string gone = lock_->folder_trouble(); !gone.empty()) return gone;
  }
  if (access(config_.folder.c_str(), W_OK) != 0) return "the folder of the runs cannot be written";
  if (free_bytes(config_.folder) < kLeastRoom) return "the disk of the folder is full";
  const std::string why = shelf_->why_none_begins();
  return why.empty() ? "" : absl::StrCat("the last run that was to begin could not: ", why);
}

// Takes what still comes for a moment, and closes open runs for as long as the time allows.
void Daemon::stop() {
  log::info("stopping");
  const bool looks = !look_after_runs_->stop(has_taken_up_ ? kLastLook : kFirstLook);  // first: it takes runs up
  server_->shutdown(milliseconds(500));
  if (const std::size_t left = shelf_->left(); left > 0) {
    log::info(absl::StrCat(left, left == 1 ? " run is" : " runs are",
                           " left open: `castscope serve` on this folder goes on with what is open, and `castscope "
                           "report FILE` shows it as it is"));
    end_process();  // the files stay as they were committed: to make one file of each takes as long as to close the run
  }
  if (looks) end_process();  // a long report of a run that was abandoned is still being made
  if (monitor_ != nullptr && !monitor_->stop(milliseconds(100))) end_process();
  if (viewer_ != nullptr && !viewer_->stop(milliseconds(100))) end_process();  // a long report is still being made
}

}  // namespace castscope::cli

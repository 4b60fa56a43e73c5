// castscope serve: a collector for many runs, one file each.
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/exit_statuses.h"
#include "server/cli/commands/fail.h"
#include "server/cli/commands/live_viewer.h"
#include "server/cli/commands/serve/collected_run.h"
#include "server/cli/commands/serve/serve_signals.h"
#include "server/cli/recording/collector_access.h"
#include "server/cli/recording/collector_folder.h"
#include "server/cli/recording/descriptors.h"
#include "server/cli/recording/findings_log.h"
#include "server/cli/recording/output_claim.h"
#include "server/cli/recording/output_name.h"
#include "server/cli/recording/recording.h"
#include "server/cli/version.h"
#include "server/log/log.h"
#include "server/store/read/run_heading.h"
#include "server/store/run/completeness.h"
#include "server/web/runs/file_run.h"
#include "server/web/runs/live_run.h"
#include "server/web/viewer.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct ServeOptions {
  ingest::Options listen{.address = "127.0.0.1:7390", .token = "", .certificate_file = "", .key_file = ""};
  std::string folder = ".";
  std::string keep;
  std::string fsync = "commit";
  std::string token_file;
  std::string web;  // address of the viewer; "" = none
};

void log_finding(const LogLine& line) {
  constexpr log::Level kLevels[] = {log::Level::kError, log::Level::kWarning, log::Level::kInfo};
  log::write(kLevels[static_cast<std::size_t>(line.level)], line.text);
}

class RunShelf {
 public:
  // `viewed` holds the runs that the viewer shows; null = there is no viewer.
  RunShelf(std::string folder, store::StoreOptions kept, std::shared_ptr<web::Runs> viewed)
      : folder_(std::move(folder)), kept_(kept), viewed_(std::move(viewed)) {}

  std::vector<std::string> unreadable() {
    std::lock_guard lock(mutex_);
    return folder_.unreadable();
  }

  // Runs that an earlier collector left open. A run that another castscope writes is not among them.
  std::vector<ingest::RunOpening> left_open() {
    std::lock_guard lock(mutex_);
    std::vector<ingest::RunOpening> runs = folder_.left_open();
    std::erase_if(runs, [this](const ingest::RunOpening& run) { return !OutputClaim().take(folder_.place(run).stem); });
    return runs;
  }

  absl::StatusOr<std::shared_ptr<store::RunSink>> open(const ingest::RunOpening& run) {
    std::lock_guard lock(mutex_);
    if (const auto found = open_.find(run.id); found != open_.end()) return reopen(run.id, found->second);
    if (absl::Status status = has_descriptors(); !status.ok()) return cannot_be_kept(run.id, status);
    const Output output = folder_.place(run);
    std::error_code error;
    const bool known = fs::exists(output.run_file(), error);
    // Before anything is written: what a stranger sends does not even open the file.
    if (const auto heading = store::read_heading(output.run_file()); heading.ok() && heading->start.owner != run.owner)
      return ingest::another_senders(run.id);
    const auto claim = std::make_shared<OutputClaim>();
    if (!claim->take(output.stem)) return cannot_be_kept(run.id, absl::UnavailableError(in_other_hands(output)));
    auto store = known ? store::RunStore::resume(output.run_file(), kept_)
                       : store::RunStore::create(output.run_file(), start_of(run), kept_);
    if (!store.ok()) return cannot_be_kept(run.id, store.status());
    log::info(absl::StrCat("run ", run.id, " from ", run.host, ": ", known ? "goes on in " : "begins in ",
                           output.run_file(), ": ", absl::StrJoin(run.command, " ").substr(0, kMostOfCommand), ", in ",
                           run.cwd));
    Open& entry = open_[run.id];
    entry = {std::shared_ptr<store::RunStore>(*std::move(store)), nullptr, output, claim, run};
    // castscope.json and the source are on the job's machine: the job's settings and comments silence nothing here.
    const auto judge = std::make_shared<judging::RunJudge>(entry.store, rules::Settings());
    findings_.begin(run.id, judge);
    if (viewed_ == nullptr) return entry.store;
    entry.shown = web::LiveRun::begin(web::id_of_file(output.run_file()), judge, start_of(run), known, {});
    viewed_->put(entry.shown);
    std::lock_guard live(live_mutex_);
    live_[run.id] = entry.shown;
    return entry.shown;
  }

  bool watched(const std::string& id) {
    std::lock_guard lock(live_mutex_);
    const auto found = live_.find(id);
    return found != live_.end() && found->second->watched(steady_clock::now());
  }

  // Says of each run that met trouble whether it has passed. It should be called now and then.
  void look_after_troubles() {
    std::lock_guard lock(mutex_);
    std::erase_if(troubles_, [this](const auto& trouble) {
      const auto open = open_.find(trouble.first);
      if (open == open_.end() || open->second.store->commits() == trouble.second) return false;
      log::info(absl::StrCat("run ", trouble.first, " goes on in ", open->second.output.run_file()));
      return true;
    });
  }

  // Runs that had ended and could not be closed since the last call: on a full disk, say.
  std::vector<ingest::RunOpening> take_unconcluded() {
    std::lock_guard lock(mutex_);
    return std::exchange(unconcluded_, {});
  }

  // The report of a run that had ended does not tell what comes now.
  void goes_on(const std::string& id) {
    std::lock_guard lock(mutex_);
    const auto found = open_.find(id);
    if (found != open_.end() && !is_taken_by_another(found->second.output, id)) forget_report(found->second.output);
  }

  // The file stays open: a disk gets room again.
  void give_up(const std::string& id, const absl::Status& why) {
    std::lock_guard lock(mutex_);
    (void)cannot_be_kept(id, why);
  }

  // Runs that would be closed later than that stay open. They are committed, and the next collector goes on with them.
  void leave_open_after(steady_clock::time_point time) { closes_until_ = time; }
  bool leaves_open() const { return steady_clock::now() >= closes_until_.load(); }
  std::size_t left() const { return left_; }

  void close(const std::string& id, const ingest::RunClosing& closing) {
    if (leaves_open()) {
      ++left_;
      return;
    }
    Open entry;
    {
      std::lock_guard lock(live_mutex_);
      live_.erase(id);
    }
    {
      std::lock_guard lock(mutex_);
      auto found = open_.find(id);
      if (found == open_.end()) return;
      entry = found->second;
      open_.erase(found);
      troubles_.erase(id);
    }
    const store::RunEnd end = end_of(closing, *entry.store);
    auto concluded = conclude(*entry.store, end, entry.output, judging::Lines::kAsKept);
    if (concluded.ok()) {
      if (!concluded->moved.empty()) log::warn(absl::StrCat("run ", id, ": ", concluded->moved));
      findings_.end(id, *concluded->run);
      if (!concluded->no_report.empty()) log::warn(absl::StrCat("run ", id, ": ", concluded->no_report));
      log::info(absl::StrCat("run ", id, ": ", concluded->output.run_file(),
                             concluded->no_report.empty() ? " and .json written" : " written", ending_of(end)));
      for (const store::Incomplete& one : store::what_is_missing(concluded->run->data))
        log::warn(absl::StrCat("run ", id, " is not complete: ", one.sentence));
    } else {
      log::error(
          absl::StrCat("run ", id, " could not be closed: ", concluded.status().message(), "; it is tried again"));
      std::lock_guard lock(mutex_);
      unconcluded_.push_back(entry.run);
    }
    if (entry.shown != nullptr)
      conclude_shown(entry, closing.farewell ? web::RunState::kFinished : web::RunState::kLost,
                     concluded.ok() ? concluded->run : nullptr);
  }

 private:
  struct Open {
    std::shared_ptr<store::RunStore> store;
    std::shared_ptr<web::LiveRun> shown;  // the sink in front of the store; null without a viewer
    Output output;
    std::shared_ptr<OutputClaim> claim;  // no other castscope writes the file
    ingest::RunOpening run = {};
  };

  static constexpr std::size_t kMostOfCommand = 200;

  absl::StatusOr<std::shared_ptr<store::RunSink>> reopen(const std::string& id, const Open& entry) {
    if (absl::Status status = entry.store->reopen(); !status.ok()) return cannot_be_kept(id, status);
    if (entry.shown != nullptr) return entry.shown;
    return entry.store;
  }

  // A run needs four: three for SQLite, one for the claim. What is left over is for reports, readers and connections.
  static absl::Status has_descriptors() {
    constexpr std::size_t kForRun = 4, kLeftOver = 64;
    const std::size_t limit = descriptor_limit();
    if (descriptors_in_use() + kForRun + kLeftOver <= limit) return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat("the collector may have ", limit,
                     " files open (`ulimit -n`), and needs them for the runs that it has: this "
                     "one waits until one of those ends"));
  }

  // Relays try again every few seconds. A trouble is said once, until something was kept.
  absl::Status cannot_be_kept(const std::string& id, const absl::Status& why) {
    const auto open = open_.find(id);
    const std::uint64_t commits = open != open_.end() ? open->second.store->commits() : 0;
    const auto [known, is_new] = troubles_.try_emplace(id, commits);
    if (is_new || known->second != commits)
      log::error(absl::StrCat("run ", id, " cannot be kept now: ", why.message(), "; its relays try again"));
    known->second = commits;
    return why;
  }

  static std::string in_other_hands(const Output& output) {
    return absl::StrCat(output.run_file(), " is being written by another castscope: send a run to one collector");
  }

  // The newest runs stay in memory with all of their events; older ones are read from their files when somebody asks.
  void conclude_shown(const Open& entry, web::RunState state, judging::JudgedRunPtr last) {
    constexpr std::size_t kStay = 4;
    entry.shown->concluded(state, std::move(last));
    std::lock_guard lock(mutex_);
    concluded_.push_back(entry.shown);
    if (concluded_.size() <= kStay) return;
    const auto oldest = concluded_.front();
    concluded_.pop_front();
    if (viewed_->find(oldest->id()) == oldest)
      viewed_->put(std::make_shared<web::FileRun>(oldest->id(), oldest->file(), web::FileRunOptions()));
  }

  CollectorFolder folder_;
  const store::StoreOptions kept_;
  const std::shared_ptr<web::Runs> viewed_;
  std::mutex mutex_;
  std::map<std::string, Open> open_;
  std::map<std::string, std::uint64_t> troubles_;  // by run that cannot be kept: the commits of its store by then
  std::deque<std::shared_ptr<web::LiveRun>> concluded_;
  std::vector<ingest::RunOpening> unconcluded_;
  std::atomic<steady_clock::time_point> closes_until_ = steady_clock::time_point::max();
  std::atomic<std::size_t> left_ = 0;
  std::mutex live_mutex_;  // a separate one: requests do not wait for a run that is being opened
  std::map<std::string, std::shared_ptr<web::LiveRun>> live_;
  FindingsLog findings_{FindingsLogOptions{.log = log_finding}};
};

// Takes what still comes for a moment, and closes open runs for as long as the time allows.
void stop(const RunShelf& shelf, ingest::Server& server, web::Viewer* viewer) {
  log::info("stopping");
  server.shutdown(milliseconds(500));
  if (const std::size_t left = shelf.left(); left > 0) {
    log::info(absl::StrCat(left, left == 1 ? " run is" : " runs are",
                           " left open: `castscope serve` on this folder goes on with what is open, and `castscope "
                           "report FILE` shows it as it is"));
    _exit(0);  // the files stay as they were committed: to make one file of each takes as long as to close the run
  }
  if (viewer != nullptr && !viewer->stop(milliseconds(100))) _exit(0);  // a long report is still being made
}

int serve(const ServeOptions& options) {
  umask(umask(0) | 077);  // runs hold command lines, paths and source: nobody else reads what this process writes
  std::error_code error;
  fs::create_directories(options.folder, error);
  const std::string folder = fs::absolute(options.folder, error).string();
  if (error || access(options.folder.c_str(), W_OK) != 0) {
    say(absl::StrCat(options.folder, " cannot be written: choose another --folder"));
    return kUsage;
  }
  ServeSignals signals;
  raise_descriptor_limit();
  const auto runs = !options.web.empty() ? std::make_shared<web::Runs>() : nullptr;
  RunShelf shelf(folder, {.keep_all = options.keep == "all", .syncs_commits = options.fsync == "commit"}, runs);
  ingest::RunKeeper keeper;
  keeper.open = [&](const ingest::RunOpening& run) { return shelf.open(run); };
  keeper.goes_on = [&](const std::string& id) { shelf.goes_on(id); };
  keeper.give_up = [&](const std::string& id, const absl::Status& why) { shelf.give_up(id, why); };
  keeper.close = [&](const std::string& id, const ingest::RunClosing& closing) { shelf.close(id, closing); };
  keeper.watched = [&](const std::string& id) { return shelf.watched(id); };
  ingest::Options listen = options.listen;
  listen.version = kVersion;
  listen.audit = [](const std::string& sentence) { log::warn(absl::StrCat("audit: ", sentence)); };
  listen.refused = [](const std::string& sentence) { log::warn(absl::StrCat("a relay was refused: ", sentence)); };
  auto server = ingest::Server::start(listen, keeper);
  if (!server.ok()) {
    say(std::string(server.status().message()));
    return kUsage;
  }
  log::info(absl::StrCat("collecting on ", (*server)->address(), " into ", folder));
  std::unique_ptr<web::Viewer> viewer;
  if (runs != nullptr) {
    auto started = start_viewer(options.web, folder, runs);
    if (!started.ok()) {
      say(std::string(started.status().message()));
      return kUsage;
    }
    viewer = *std::move(started);
  }
  for (const std::string& sentence : shelf.unreadable())
    log::warn(absl::StrCat(sentence, "; a run that goes on is not looked for in it"));
  // Relays that are still there go on with the next collector, so it would be of no use to make whoever stops this one
  // wait for the reports of all of their runs.
  signals.listen(milliseconds(1700), [&shelf] { shelf.leave_open_after(steady_clock::now() + milliseconds(1300)); });
  for (ingest::RunOpening& run : shelf.left_open())
    if (!shelf.leaves_open()) (*server)->take_up(std::move(run));
  // A killed relay sends no goodbye: its run is closed when no relay has come back for some time.
  constexpr std::chrono::seconds kLook{10};
  constexpr std::chrono::minutes kPatience{2};
  while (!signals.stops_within(kLook)) {
    try {
      (*server)->close_abandoned(kPatience);
      shelf.look_after_troubles();
      for (ingest::RunOpening& run : shelf.take_unconcluded()) (*server)->take_up(std::move(run));
    } catch (const std::bad_alloc&) {
      log::warn("there was no memory to look after the runs; it is tried again in ten seconds");
    }
    malloc_trim(0);  // glibc keeps what many streams at once have used, in an arena for each of their threads
  }
  stop(shelf, **server, viewer.get());
  return 0;
}

std::string folder_problem(const std::string& folder) {
  std::error_code error;
  if (folder.empty()) return "its value is empty";
  const bool is_other = std::filesystem::exists(folder, error) && !std::filesystem::is_directory(folder, error);
  return is_other ? absl::StrCat(folder, " is not a folder") : "";
}

}  // namespace

void add_serve(CommandLine& line) {
  const Command command = line.subcommand("serve", "Collect runs that come over the network");
  auto options = std::make_shared<ServeOptions>();
  command
      .option("--listen ADDRESS", options->listen.address,
              "Where relays connect: HOST:PORT or unix:PATH; port 0 = any free one")
      .given()
      .shows_default();
  command.option("--folder FOLDER", options->folder, "Where the run files go").check(folder_problem).shows_default();
  command
      .option("--token TOKEN", options->listen.token,
              "The token that relays must send (safer in the environment variable)")
      .from_variable("CASTSCOPE_TOKEN");
  command.option("--token-file FILE", options->token_file,
                 "A file whose first line is the token; CASTSCOPE_TOKEN_FILE names one, too");
  command.option("--cert FILE", options->listen.certificate_file, "TLS certificate (PEM)").existing_file();
  command.option("--key FILE", options->listen.key_file, "Its key (PEM)").existing_file();
  command
      .option("--keep", options->keep,
              "Which single events the run files keep: `all` of them, or those of a bounded `window` (the default)")
      .one_of({"all", "window"});
  command
      .option(
          "--fsync", options->fsync,
          "When the disk must have it: before it is acknowledged (`commit`), or now and then (`checkpoint`). A power "
          "cut may then take what was acknowledged last; a crash of the collector takes nothing in either case")
      .one_of({"commit", "checkpoint"})
      .shows_default();
  command.flag_with_value("--web=ADDRESS", "127.0.0.1:0", options->web,
                          "Serve a page on which runs can be watched; --web=ADDRESS on this address of this machine");
  command.footer(absl::StrCat(
      "Examples:\n"
      "  castscope serve --folder runs\n"
      "  castscope serve --folder runs --web=127.0.0.1:7391\n"
      "  CASTSCOPE_TOKEN=… castscope serve --listen 0.0.0.0:7390 --cert cert.pem --key key.pem\n\n"
      "Findings are logged as they come up, each one once, with run, rule, line and process. After ten findings of a "
      "rule\nin one run, further ones are only counted.\n\n"
      "Started again on its folder, a collector goes on with the runs that it had left open, and closes those that "
      "nobody\nsends any more.\n\n"
      "An address that other machines can reach is refused unless certificate, key and token are given. If --web names "
      "a\nport, the page has the same address after a restart: its token is kept in the folder.\n\n",
      exit_statuses_of("serve")));
  command.on_run([options] {
    CollectorAddress access{
        .address = "", .token = options->listen.token, .token_file = options->token_file, .tls = {}};
    if (const absl::Status status = complete(access); !status.ok()) return fail(status, kUsage);
    options->listen.token = access.token;
    return serve(*options);
  });
}

}  // namespace castscope::cli

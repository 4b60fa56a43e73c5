// castscope view: shows runs on a page in the browser.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "absl/strings/str_cat.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/exit_statuses.h"
#include "server/cli/commands/fail.h"
#include "server/cli/commands/input_file.h"
#include "server/cli/commands/settings_file.h"
#include "server/cli/recording/recording.h"
#include "server/store/read/run_heading.h"
#include "server/store/read/run_reader.h"
#include "server/web/runs/file_run.h"
#include "server/web/viewer.h"

namespace castscope::cli {
namespace {

struct ViewOptions {
  std::vector<std::string> runs;
  std::string config, policy;
  int port = 0;
  bool no_browser = false;
};

// Called before any thread starts, so that all threads leave these signals to the main thread.
sigset_t block_signals_that_end() {
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, signal);
  sigprocmask(SIG_BLOCK, &ending, nullptr);
  return ending;
}

// What is wrong with a run file whose heading cannot be read, as `castscope report` says it.
absl::Status about_unreadable(const std::string& file, const absl::Status& status) {
  const auto run = store::read_as_it_is(file);
  return about_run_file(file, run.ok() ? status : run.status());
}

// Shows each named run as far as it can be read; a folder may hold other files too.
absl::Status add_runs(const ViewOptions& options, const web::FileRunOptions& read, web::Runs& runs) {
  for (const std::string& name : options.runs) {
    std::error_code error;
    if (!std::filesystem::is_directory(name, error)) {
      if (const auto heading = store::read_heading(name); !heading.ok())
        return about_unreadable(name, heading.status());
      runs.put(std::make_shared<web::FileRun>(runs.free_id(name), name, read));
      continue;
    }
    const std::vector<std::string> files = web::run_files_in(name);
    if (files.empty()) return absl::NotFoundError(absl::StrCat(name, ": no run file (*.castscope) is in this folder"));
    for (const std::string& file : files) runs.put(std::make_shared<web::FileRun>(runs.free_id(file), file, read));
  }
  return absl::OkStatus();
}

// Says what is wrong with the named runs; whatever can be read of them is shown.
bool say_damage(const ViewOptions& options, web::Runs& runs) {
  bool damaged = false;
  for (const web::RunPtr& run : runs.all()) {
    if (std::find(options.runs.begin(), options.runs.end(), run->file()) == options.runs.end()) continue;
    const auto snapshot = run->snapshot();
    if (snapshot.ok() && !(*snapshot)->data().damage) continue;
    damaged = true;
    say(snapshot.ok() ? absl::StrCat(run->file(), ": ", (*snapshot)->data().damage->sentence)
                      : std::string(snapshot.status().message()));
  }
  return damaged;
}

bool has_display() {
  const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
  return (x != nullptr && *x != '\0') || (wayland != nullptr && *wayland != '\0');
}

// A page that leads to `url`, which has the token: on a command line every user of the machine could read it. "" = it
// cannot be made.
std::string page_to(const std::string& url) {
  const char* const runtime = getenv("XDG_RUNTIME_DIR");
  std::string path = absl::StrCat(runtime != nullptr && *runtime == '/' ? runtime : "/tmp", "/castscope-XXXXXX.html");
  const int file = mkstemps(path.data(), sizeof ".html" - 1);  // 0600
  const std::string text = absl::StrCat("<!DOCTYPE html><meta http-equiv=\"refresh\" content=\"0; url=", url, "\">\n");
  const bool written = file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (file >= 0) close(file);
  return written ? path : "";
}

// The browser's output does not go to this terminal, and Ctrl-C here does not end the browser.
void open_browser(const std::string& url) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&files, file, "/dev/null", O_RDWR, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  std::string program = "xdg-open", address = url;
  char* const arguments[] = {program.data(), address.data(), nullptr};
  pid_t pid = 0;
  (void)posix_spawnp(&pid, program.c_str(), &files, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
}

int view(const ViewOptions& options) {
  const auto settings = settings_here(options.config, options.policy);
  if (!settings.ok()) return fail(settings.status(), kUsage);
  const sigset_t ending = block_signals_that_end();
  const auto runs = std::make_shared<web::Runs>();
  if (absl::Status status = add_runs(options, {.settings = *settings, .this_host = host_name()}, *runs); !status.ok())
    return fail(status, kIncompleteData);
  auto viewer = web::Viewer::on(absl::StrCat("127.0.0.1:", options.port), runs);
  if (!viewer.ok()) return fail(viewer.status(), kUsage);
  if (absl::Status status = (*viewer)->start(); !status.ok()) return fail(status, kUsage);
  if (!put((*viewer)->url() + "\n")) return kUsage;
  std::string page;
  if (!options.no_browser && has_display() && isatty(STDOUT_FILENO)) page = page_to((*viewer)->url());
  if (!page.empty()) open_browser("file://" + page);
  const bool damaged = say_damage(options, *runs);
  say("the viewer is at the address above until Ctrl-C");
  int which = 0;
  sigwait(&ending, &which);
  if (!page.empty()) unlink(page.c_str());
  const int status = damaged ? kIncompleteData : 0;
  if (!(*viewer)->stop(std::chrono::seconds(1))) {  // somebody is still waiting for a long report
    std::fflush(nullptr);
    _exit(status);
  }
  return status;
}

}  // namespace

void add_view(CommandLine& line) {
  const Command command = line.subcommand("view", "Look at runs in the browser: a timeline of every cast, and more");
  auto options = std::make_shared<ViewOptions>();
  command.option("RUN", options->runs, "NAME.castscope, several of them, or folders that hold some").required().given();
  command.option("--port PORT", options->port, "A port of 127.0.0.1; 0 = any free one").range(0, 65535).shows_default();
  command.flag("--no-browser", options->no_browser, "Only print the address");
  add_config_option(command, options->config);
  add_policy_option(command, options->policy);
  command.footer(absl::StrCat(
      "Examples:\n"
      "  castscope view train.castscope\n"
      "  castscope view --no-browser before.castscope after.castscope\n"
      "  castscope view --port 7391 runs/\n\n"
      "The address is printed first, and is all that stands on standard output. It holds a token: whoever knows it "
      "can\nsee the run and its source code. Only this machine can reach it; to look from another one:\n"
      "  ssh -L 7391:127.0.0.1:7391 MACHINE    # while castscope view --port 7391 … runs there\n\n",
      exit_statuses_of("view")));
  command.on_run([options] { return view(*options); });
}

}  // namespace castscope::cli

#include "server/cli/commands/late_recording.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "server/cli/commands/settings_file.h"
#include "server/cli/job/proc.h"

namespace castscope::cli {
namespace {

using std::chrono::milliseconds;

// Becomes the relay of this run; returns false if the run has one.
bool claim(const RunDirectory& directory) {
  int fd = open((directory.path() + "/relay.lock").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
  return fd >= 0;
}
void give_up_claim(const RunDirectory& directory) { unlink((directory.path() + "/relay.lock").c_str()); }

// A command like `sh -c 'python a.py; python b.py'` has moments without any process of PyTorch.
constexpr milliseconds kGrace{500};

}  // namespace

// Nobody reads messages about a wrong castscope.json here; `castscope check` reports it later.
rules::Settings settings_of_job(const RunRecord& record) {
  auto settings = settings_for("", record.cwd);
  return settings.ok() ? *settings : rules::Settings();
}

RunRecord describe(const RunDirectory& directory) {
  RunRecord record{.command = {},
                   .cwd = working_folder(),
                   .stem = "",
                   .begin_realtime_ns = realtime_ns(),
                   .pid = getpid(),
                   .pid_ticks = start_ticks(getpid())};
  const Withholding withholding = withheld_by_environment();
  record.redact = pattern_of(withholding), record.no_source = withholding.no_source;
  // A relay may have recorded some of it before.
  const RunRecord before = directory.read_record().value_or(RunRecord());
  record.key = before.key, record.secret = before.secret;
  if (record.key.empty()) record.key = new_run_key();
  record.relay = relay::fresh_relay_id();
  for (pid_t pid : directory.attached()) {
    record.command = command_line(pid);
    if (!record.command.empty()) break;
  }
  return record;
}

std::string sent_to(const std::string& collector) {
  return absl::StrCat("what the collector at ", collector, " had taken of this run by then is not in this file");
}

pid_t first_attached(const RunDirectory& directory) {
  std::vector<pid_t> pids = directory.attached();
  return pids.empty() ? 0 : pids[0];
}

void wait_for_last_process(Recording& recording, const RunDirectory& directory) {
  for (;;) {
    while (directory.has_living_process()) recording.relay().wait_until_quiet(milliseconds(50)), usleep(50'000);
    recording.relay().wait_until_quiet(kGrace);
    usleep(static_cast<useconds_t>(std::chrono::microseconds(kGrace).count()));
    if (directory.has_living_process()) continue;
    // A process that starts from now on finds no lock and starts its own relay; one that started just before is found
    // below.
    give_up_claim(directory);
    if (!directory.has_living_process() || !claim(directory)) return;
  }
}

}  // namespace castscope::cli

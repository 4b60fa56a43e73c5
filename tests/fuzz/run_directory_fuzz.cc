// The small files of a run directory (server/cli/job/run_directory.h), which the processes of a job write, and requests
// at the run's socket.
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "agent/lanes/control.h"
#include "server/cli/attaching/control_socket.h"
#include "server/cli/job/run_directory.h"
#include "server/relay/roll.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/scratch.h"

namespace castscope::fuzz {
namespace {

std::string directory() {
  static const auto* const path = new std::string(scratch_path("run-fuzzed"));
  static const bool made = mkdir(path->c_str(), 0700) == 0;
  CASTSCOPE_PROMISE(made, "a fuzzer can make a run directory");
  return *path;
}

void write(const std::string& name, std::string_view content) {
  (void)directory();
  scratch_file("run-fuzzed/" + name, content);
}

void read_record(std::string_view text) {
  write("run.json", text);
  const cli::RunDirectory run(directory());
  const auto record = run.read_record();
  if (!record) return;
  CASTSCOPE_PROMISE(run.write_record(*record).ok() && run.read_record().has_value(),
                    "a record that was read can be written and read again");
  (void)run.is_recorded();
}

void read_roll(std::string_view pieces) {
  std::string file(sizeof(castscope_roll), '\0');
  Pieces(&pieces).put_over(file);
  write("roll", file);
  const auto roll = relay::Roll::of_bare_run(directory());
  if (roll == nullptr) return;
  CASTSCOPE_PROMISE(roll->take().size() <= CASTSCOPE_ROLL_CALLS, "there are no more calls than places for them");
  CASTSCOPE_PROMISE(roll->take().empty(), "a call is taken once");
  for (const std::string& sentence : roll->sentences())
    CASTSCOPE_PROMISE(sentence.size() < CASTSCOPE_ROLL_SENTENCE_BYTES, "a sentence has an end");
  (void)roll->has_torch();
  (void)roll->lost();
}

void ask(Bytes& bytes) {
  write(std::to_string(getpid()) + ".control", bytes.some(sizeof(castscope_control)));
  const std::string answer = cli::answer_to(directory(), std::string(bytes.rest()));
  if (answer.starts_with("error ")) return;
  for (std::size_t at = 0; at < answer.size();) {
    const std::size_t end = answer.find('\n', at);
    CASTSCOPE_PROMISE(end != answer.npos, "an answer is whole lines");
    CASTSCOPE_PROMISE(cli::state_of(answer.substr(at, end - at)).has_value(), "each line is a process's state");
    at = end + 1;
  }
}

void say(std::string_view text) {
  write("said-0123456789abcdef", text);
  const cli::RunDirectory run(directory());
  CASTSCOPE_PROMISE(run.unrecorded().size() <= 1, "a file is one sentence");
}

}  // namespace

CASTSCOPE_FUZZER(run_directory, 3000, 4096) {
  Bytes bytes(input);
  switch (bytes.byte() % 4) {
    case 0:
      return read_record(bytes.rest());
    case 1:
      return read_roll(bytes.rest());
    case 2:
      return ask(bytes);
    default:
      return say(bytes.rest());
  }
}

}  // namespace castscope::fuzz

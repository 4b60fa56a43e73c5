// Measures how many events a second go from the rings to the run file: relay → gRPC → checks → store → rules.
//
//   bench_pipeline EVENTS one    relay and collector in one process on one core, as in `castscope run`
//   bench_pipeline EVENTS apart  the collector alone on its core, the relay on the job's, as with `castscope serve`
//   a third argument, "all", keeps every event in the file; a fourth names the file, which is then kept
//
// In both cases the bytes go through a real gRPC connection on loopback. Prints one line of JSON; cpu_s is the CPU time
// of the process that holds the collector.
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "server/ingest/server.h"
#include "server/relay/relay.h"
#include "server/relay/sending/connect.h"
#include "server/rules/judgement.h"
#include "server/store/write/run_store.h"
#include "tests/bench/synthetic_job.h"

namespace castscope::bench {
namespace {

using std::chrono::milliseconds;

void pin(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  sched_setaffinity(0, sizeof cores, &cores);
}

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "bench_pipeline: %s\n", what.c_str());
  std::exit(1);
}

template <typename T>
T value(absl::StatusOr<T> result) {
  if (!result.ok()) fail(std::string(result.status().message()));
  return *std::move(result);
}

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Relays the data in `directory` to `address` until the job there has ended. Returns 0 if all was delivered.
int relay_all(const std::string& directory, const std::string& address) {
  relay::Relay relay({.run_directory = directory,
                      .run = {.id = "bench", .command = {"bench"}},
                      .channel = value(relay::connect(address))});
  if (auto status = relay.start(); !status.ok()) fail(std::string(status.message()));
  // A directory without a segment is quiet too, so this waits for the job to appear first.
  while (relay.progress().processes == 0) relay.wait_until_quiet(milliseconds(1));
  relay.wait_until_quiet(std::chrono::minutes(10));
  const relay::Summary summary = relay.stop({.exit_status = 0}, std::chrono::seconds(60));
  if (!summary.delivered) fail(summary.problem);
  return 0;
}

template <typename Work>
pid_t in_child(int core, const Work& work) {
  const pid_t child = fork();
  if (child != 0) return child;
  pin(core);
  _exit(work());
}

void wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) fail("a part of the bench failed");
}

struct Folder {
  Folder() {
    std::string pattern = "/dev/shm/castscope-bench-XXXXXX";
    path = mkdtemp(pattern.data());
    std::filesystem::create_directory(path + "/run");
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

int run(std::uint64_t events, bool apart, bool keep_all, const std::string& kept_file) {
  Folder folder;
  const std::string lanes = folder.path + "/run",
                    file = kept_file.empty() ? folder.path + "/bench.castscope" : kept_file,
                    socket = "unix:" + folder.path + "/socket";
  // Children are started before gRPC has threads. gRPC retries until the collector listens.
  const pid_t job = in_child(1, [&] { return run_synthetic_job(lanes, {.events = events}); });
  const pid_t remote_relay = apart ? in_child(1, [&] { return relay_all(lanes, socket); }) : 0;
  pin(0);

  std::shared_ptr<store::RunStore> store =
      value(store::RunStore::create(file, {.run_id = "bench", .command = {"bench"}}, {.keep_all = keep_all}));
  ingest::RunKeeper keeper{
      .open = [&](const ingest::RunOpening&) -> absl::StatusOr<std::shared_ptr<store::RunSink>> { return store; },
      .close = [](const std::string&, const ingest::RunClosing&) {}};
  const auto begin = std::chrono::steady_clock::now();
  const double cpu_begin = cpu_seconds();
  auto server = value(ingest::Server::start({.address = socket}, keeper));
  if (apart) {
    wait_for(remote_relay);
  } else {
    relay_all(lanes, socket);
  }
  server->shutdown(milliseconds(1000));
  const store::RunData data = value(store->read());
  if (auto status = store->set_findings(rules::judgement_of(data).findings); !status.ok())
    fail(std::string(status.message()));
  if (auto status = store->close(); !status.ok()) fail(std::string(status.message()));
  const double cpu = cpu_seconds() - cpu_begin;
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  wait_for(job);

  std::uint64_t received = 0;
  for (const auto& process : data.processes)
    for (const auto& lane : process.lanes) received += lane.received;
  if (received != events) fail("received " + std::to_string(received) + " of " + std::to_string(events) + " events");
  std::printf("{\"events\": %llu, \"wall_s\": %.4f, \"cpu_s\": %.4f, \"file_bytes\": %llu}\n",
              static_cast<unsigned long long>(events), wall, cpu,
              static_cast<unsigned long long>(std::filesystem::file_size(file)));
  return 0;
}

}  // namespace
}  // namespace castscope::bench

int main(int argc, char** argv) {
  const std::string mode = argc > 2 ? argv[2] : "";
  if (mode != "one" && mode != "apart") castscope::bench::fail("usage: bench_pipeline EVENTS one|apart [all [FILE]]");
  return castscope::bench::run(std::strtoull(argv[1], nullptr, 10), mode == "apart",
                               argc > 3 && std::string(argv[3]) == "all", argc > 4 ? argv[4] : "");
}

// What a collector keeps: batches that a relay may send, however wrong in what they say, become a run file that can be
// read, and counts neither more nor less than what was taken of them.
#include <sqlite3.h>

#include <filesystem>
#include <string>

#include "server/ingest/validation/validator.h"
#include "server/store/read/run_reader.h"
#include "server/store/write/run_store.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/checking_sink.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/sent_batches.h"

namespace castscope::fuzz {
namespace {

constexpr int kMostBatches = 8;

// Both sinks of a run are told the same.
class BothSinks {
 public:
  explicit BothSinks(store::RunStore& store) : store_(store) {}
  void apply(const v1::Batch& batch) {
    const ingest::Verdict checked = checking_validator_.apply(batch, checking_);
    const ingest::Verdict stored = store_validator_.apply(batch, store_);
    CASTSCOPE_PROMISE(checked.failed.ok(), "a sink that takes everything does not fail");
    CASTSCOPE_PROMISE(stored.failed.ok(), "a run file takes what was checked");
    CASTSCOPE_PROMISE(checked.rejected == stored.rejected, "whether data are taken does not depend on the sink");
  }
  CheckingSink& checking() { return checking_; }

 private:
  store::RunStore& store_;
  CheckingSink checking_;
  ingest::RunValidator checking_validator_, store_validator_;
};

void check_file(const std::string& path, CheckingSink& told) {
  const auto data = store::read_run(path);
  CASTSCOPE_PROMISE(data.ok(), sentence_of(data.status()));
  CASTSCOPE_PROMISE(data->processes.size() == told.processes.size(), "the file has the processes that were told");
  std::uint64_t casts = 0, kept = 0, sites = 0;
  for (const store::SiteUse& use : data->site_uses) casts += use.counts.casts, kept += use.counts.kept, ++sites;
  for (const store::Process& process : data->processes) casts += process.beyond_sites.casts;
  std::uint64_t told_casts = 0;
  for (const auto& [key, process] : told.processes) {
    for (const auto& [of, row] : process.counters)
      if (of.second == 0 || process.sites.contains(of.second)) told_casts += row.casts;
  }
  CASTSCOPE_PROMISE(casts == told_casts, "the file has the casts that were told");
}

void remove_file(const std::string& path) {
  std::error_code ignored;
  for (const char* const end : {"", "-wal", "-shm"}) std::filesystem::remove(path + end, ignored);
}

}  // namespace

CASTSCOPE_FUZZER(stored_run, 150, 8192) {
  Bytes bytes(input);
  const std::string path = scratch_path("stored.castscope");
  remove_file(path);
  auto store = store::RunStore::create(path, store::RunStart());
  CASTSCOPE_PROMISE(store.ok(), "a fuzzer can make a run file");
  BothSinks sinks(**store);
  SentBatches batches(bytes);
  for (int i = 0; i < kMostBatches && !bytes.empty(); ++i) sinks.apply(batches.next());
  const absl::Status closed = (*store)->close();
  CASTSCOPE_PROMISE(closed.ok(), "a run file can be closed");
  check_file(path, sinks.checking());
  remove_file(path);
}

}  // namespace castscope::fuzz

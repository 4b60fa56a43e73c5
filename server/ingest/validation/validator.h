// The one place where data from the network are checked. A relay may be another castscope, a broken one, or something
// else entirely: nothing in a batch is trusted, and memory is bounded whatever it contains. Valid data go to the run's
// sink; this code makes sure that everything holds that RunSink promises about its calls.
//
// Packed events and records of definitions come out of the memory of a process, which may be damaged. Those that make
// no sense are left out, the run is not complete, and the process goes on: its counts are absolute, and do not depend
// on them. Whoever sends anything else that makes no sense is no relay of ours, and nothing more is taken of that
// process.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "proto/castscope/v1/castscope.pb.h"
#include "proto/event_block.h"
#include "server/ingest/validation/bounds.h"
#include "server/ingest/validation/definitions.h"
#include "server/ingest/validation/plain_definitions.h"
#include "server/store/run/run_sink.h"

namespace castscope::ingest {

struct Verdict {
  // The process sends invalid data: nothing more of it is taken, and this sentence goes back to the relay.
  absl::Status rejected;
  // What the run's file is told of it: kBatchRejected where the batch names no process.
  store::IncompleteReason reason = store::IncompleteReason::kProcessRejected;
  // The sink could not keep the data: this concerns the whole run.
  absl::Status failed;
  bool ok() const { return rejected.ok() && failed.ok(); }
};

// The state of one process, from the batches so far. `sums` are those of the run.
class ProcessValidator {
 public:
  ProcessValidator(std::string key, RunSums* sums) : key_(std::move(key)), sums_(sums) {}
  // An earlier life of the run knew the process.
  void adopt(const store::ProcessInfo& info) { identity_ = {info.host, info.pid, info.start_ticks}; }
  // It had rejected it, with this sentence: the process stays so, and its relay is told again.
  void adopt_rejection(const std::string& sentence);
  // `take_events` false: events are passed over, and are missing from the run. Counts and the rest are taken.
  Verdict apply(const v1::Batch& batch, store::RunSink& sink, bool take_events);
  bool silenced() const { return silenced_; }

 private:
  struct Lane {
    store::LaneRow row;
    bool positioned = false;  // the sink was asked for the position from before a restart
    bool touched = false;     // by the present batch
    store::CounterRow own_overflow, orphans;
  };

  struct Identity {
    std::string host;
    std::int64_t pid = 0;
    std::uint64_t start_ticks = 0;
    bool operator==(const Identity&) const = default;
  };

  struct Count {
    store::CounterRow row;
    bool orphan = false;   // its site was not defined when it was first counted; this never changes
    bool ignored = false;  // neither was it, and it counts no casts
  };

  // Something in the batch makes no sense, and the rest is taken: the run's file is told so, once for each part.
  enum class Part { kEvents, kDefinitions, kCounts };
  absl::Status lose(Part part, const std::string& what, store::RunSink& sink);
  absl::Status apply_checked(const v1::Batch& batch, store::RunSink& sink, bool take_events);
  absl::Status definitions(const v1::Batch& batch, store::RunSink& sink);
  absl::Status take_definitions(const v1::Batch& batch, std::uint64_t most, store::RunSink& sink);
  absl::Status begin(const v1::ProcessBegin& begin, store::RunSink& sink);
  absl::Status events(const v1::Events& events, store::RunSink& sink, bool take);
  absl::Status take_events(const v1::Events& events, Lane& lane, store::RunSink& sink);
  absl::Status unpack(const v1::Events& events);
  bool forget_unknown_keys(const std::vector<wire::EventKey>& keys);
  absl::Status counters(const v1::Counters& counters, store::RunSink& sink);
  absl::Status count(store::CounterRow row, store::RunSink& sink);
  absl::Status lanes(const v1::Batch& batch, store::RunSink& sink);
  absl::Status gauges(const v1::Gauges& gauges, store::RunSink& sink);
  absl::Status end(const v1::ProcessEnd& end, store::RunSink& sink);
  absl::Status lane(std::uint32_t id, store::RunSink& sink, Lane** out);
  absl::Status kept(absl::Status status);  // remembers an error of the sink

  std::string key_;
  RunSums* sums_;
  bool begun_ = false, silenced_ = false;
  std::array<bool, 3> lost_{};        // by Part
  std::string rejected_before_;       // the sentence of an earlier life, until the relay was told it
  std::optional<Identity> identity_;  // as it was introduced
  Definitions definitions_;
  PlainDefinitions plain_;
  absl::flat_hash_map<std::uint32_t, std::unique_ptr<Lane>> lanes_;
  absl::flat_hash_map<std::uint64_t, Count> counters_;  // lane << 32 | site
  std::vector<store::CounterRow> changed_;
  std::uint64_t events_of_batch_ = 0;  // that are new, by what its blocks say
  std::vector<lanes::Event> unpacked_;
  std::vector<wire::EventKey> keys_;
  int last_end_ = -1, last_exit_status_ = -1;
  std::uint64_t bytes_at_end_ = 0;  // of its definitions, when it first ended
  absl::Status sink_error_;
};

class RunValidator {
 public:
  void adopt(const store::EarlierLife&);
  // Returns false if no batch of this process can have come before.
  bool knows(const std::string& process_key) const;
  Verdict apply(const v1::Batch& batch, store::RunSink& sink, bool take_events = true);
  const RunSums& sums() const { return sums_; }
  // The most bytes of definitions that all processes of the run may send together; 0 = the limit of every run. The
  // validator rejects a process that sends more.
  void bound_definitions(std::uint64_t bytes) { sums_.bound_definitions(bytes); }

 private:
  ProcessValidator& find_or_add(const std::string& key);
  absl::flat_hash_map<std::string, std::unique_ptr<ProcessValidator>> processes_;
  RunSums sums_;
  bool has_room() const;
  bool too_many_ = false;  // processes; this was said
};

}  // namespace castscope::ingest

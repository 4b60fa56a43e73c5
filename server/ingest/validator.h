// The one place where what came over the wire is checked. A relay may be another castscope, a broken one, or none at
// all: nothing in a batch is believed, and memory is bounded whatever it says. What passes goes to the run's sink;
// everything that RunSink promises of its calls is made true here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "proto/castscope/v1/castscope.pb.h"
#include "proto/event_block.h"
#include "server/ingest/definitions.h"
#include "server/store/run/run_sink.h"

namespace castscope::ingest {

struct Verdict {
  // The process talks nonsense: nothing more of it is taken, and the sentence goes back to the relay.
  absl::Status rejected;
  // The sink could not keep it: a matter of the whole run.
  absl::Status failed;
  bool ok() const { return rejected.ok() && failed.ok(); }
};

// One process as it has told of itself so far.
class ProcessValidator {
 public:
  explicit ProcessValidator(std::string key) : key_(std::move(key)) {}
  Verdict apply(const v1::Batch& batch, store::RunSink& sink);
  bool silenced() const { return silenced_; }

 private:
  struct Lane {
    store::LaneRow row;
    bool positioned = false;  // the sink was asked where an earlier life of the run had stopped
    bool touched = false;     // in the present batch
    store::CounterRow own_overflow, orphans;
  };

  struct Count {
    store::CounterRow row;
    bool orphan = false;  // its site was not defined when it was first counted; stays so
  };

  absl::Status apply_checked(const v1::Batch& batch, store::RunSink& sink);
  absl::Status begin(const v1::ProcessBegin& begin, store::RunSink& sink);
  absl::Status events(const v1::Events& events, store::RunSink& sink);
  bool forget_unknown_keys(const std::vector<wire::EventKey>& keys);
  absl::Status counters(const v1::Counters& counters, store::RunSink& sink);
  void count(store::CounterRow row);
  absl::Status lanes(const v1::Batch& batch, store::RunSink& sink);
  absl::Status gauges(const v1::Gauges& gauges, store::RunSink& sink);
  absl::Status end(const v1::ProcessEnd& end, store::RunSink& sink);
  absl::Status lane(std::uint32_t id, store::RunSink& sink, Lane** out);
  absl::Status kept(absl::Status status);  // remembers an error of the sink

  std::string key_;
  bool begun_ = false, silenced_ = false;
  Definitions definitions_;
  absl::flat_hash_map<std::uint32_t, std::unique_ptr<Lane>> lanes_;
  absl::flat_hash_map<std::uint64_t, Count> counters_;  // lane << 32 | site
  std::vector<store::CounterRow> changed_;
  std::vector<lanes::Event> unpacked_;
  std::vector<wire::EventKey> keys_;
  int last_end_ = -1, last_exit_status_ = -1;
  absl::Status sink_error_;
};

class RunValidator {
 public:
  Verdict apply(const v1::Batch& batch, store::RunSink& sink);

 private:
  absl::flat_hash_map<std::string, std::unique_ptr<ProcessValidator>> processes_;
};

}  // namespace castscope::ingest

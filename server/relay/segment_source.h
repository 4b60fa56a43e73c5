// One segment as the relay sees it: takes events, remembers which numbers were sent, and makes batches of the rest.
// Only the drain thread uses it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/lanes/segment_reader.h"
#include "proto/castscope/v1/castscope.pb.h"
#include "server/redaction/redaction.h"
#include "server/relay/sending/outbox.h"
#include "server/relay/summary.h"

namespace castscope::relay {

class SegmentSource {
 public:
  using Clock = std::chrono::steady_clock;

  // `key` names the process in the run; `id` is the number in receipts. Texts go through `redaction`, if it is given.
  SegmentSource(std::uint64_t id, std::string key, std::string host, std::unique_ptr<lanes::SegmentReader> reader,
                Clock::duration event_interval, std::shared_ptr<redaction::Redaction> redaction = nullptr);

  // Takes events from the rings, as far as there is room for them here. `busy` is set when a ring was filling up.
  struct Drained {
    std::uint64_t events = 0;
    bool busy = false;
    bool batch_full = false;  // a lane has as many events waiting as a block should have
  };
  // `take_events` false: events stay in their rings.
  Drained drain(Clock::time_point now, bool take_events = true);
  // Nobody needs room in the rings any more. An end mark says so, too.
  void set_writer_gone() { writer_has_gone_ = true; }
  bool has_block(Clock::time_point now) const;  // make_batches would send events
  void wait_for_company(Clock::duration event_interval) { event_interval_ = event_interval; }

  // Makes batches of everything that is new, and of the end when that is to be reported (see set_end). A few recent
  // events wait for more, except at the end.
  enum class End { kNone, kNotSeen, kSeen };
  struct Made {
    std::unique_ptr<v1::RelayMessage> message;
    std::vector<Receipt> receipts;
  };
  std::vector<Made> make_batches(End tell, Clock::time_point now);
  // `exit_status` counts if the segment has none.
  void set_end(ProcessEnd end, int exit_status = -1) { end_ = end, known_exit_status_ = exit_status; }
  // Returns all definitions and all numbers again, for a collector that may know nothing.
  std::vector<Outbox::Message> introduction();

  void acknowledged(const Receipt& receipt);
  void silence(const std::string& problem);  // stop reading: the collector does not take the data

  const std::string& key() const { return key_; }
  lanes::SegmentReader& reader() { return *reader_; }
  bool introduced() const { return introduced_; }
  // What of the segment could not be read; "" = nothing.
  std::string damage() const;
  // The same, or why the collector takes nothing more of it.
  std::string problem() const { return silenced_.empty() ? damage() : silenced_; }
  ProcessSummary summary();

  struct Totals {
    std::uint64_t casts = 0, hits = 0, dropped = 0;
  };
  const Totals& totals() const { return totals_; }  // at the last make_batches; of casts alone

 private:
  struct Lane {
    std::vector<lanes::Event> waiting;
    std::uint64_t first = 0;    // the number of waiting[0]
    Clock::time_point since{};  // when waiting[0] was taken
    std::unordered_map<std::uint32_t, lanes::CounterValues> told;
    lanes::LaneState state;
    bool state_told = false;
  };
  // Packs what waits in the lane, in as many blocks as possible events stand together, and returns its bytes.
  std::size_t pack(std::size_t lane, Made& into);
  bool due(const Lane& lane, Clock::time_point now) const;
  std::unique_ptr<v1::RelayMessage> new_message() const;
  void add_begin(v1::Batch* batch) const;
  void add_counter(v1::Counters* to, std::uint32_t lane, const lanes::CounterValues& values);
  bool collect_counters(v1::Counters* to);  // true: there are more than one message may hold
  void collect_states(v1::Batch* to);
  void forget_what_was_told();
  // Takes the next definitions, about one message's worth, with their texts redacted. Returns false when there are no
  // more for now. `again`: they were read before.
  bool take_definitions(bool again, std::string* records);
  // Takes note of whose numbers these records define. `again`: they were read before.
  void note_numbers(const std::string& records, bool again);
  bool is_in_order(const lanes::DefinitionHeader& header);
  bool is_defined(std::uint32_t number) const { return number < kinds_.size() && kinds_[number] != Numbered::kNothing; }
  // Leaves out what lost its definition and can be no site. A collector takes the others for casts without a place.
  void leave_out_others(v1::Counters* counters);
  void add_up();
  int exit_status() const;
  void to_nanoseconds(std::vector<lanes::Event>* events, std::size_t from) const;

  const std::uint64_t id_;
  const std::string key_, host_;
  Clock::duration event_interval_;
  const std::unique_ptr<lanes::SegmentReader> reader_;
  const std::shared_ptr<redaction::Redaction> redaction_;
  std::vector<Lane> lanes_;
  bool introduced_ = false;
  lanes::ProcessState told_state_;
  bool state_told_ = false;
  Totals totals_;
  enum class Numbered : std::uint8_t { kNothing, kSite, kOther };  // kOther: an operator use, a flow, a fact, …
  std::vector<Numbered> kinds_;                                    // by the number that counters use
  bool has_uses_ = false;                                          // of operators
  std::unordered_map<lanes::DefinitionKind, std::uint32_t> last_ids_;
  bool lost_definitions_ = false;  // a counter has none, or a number is missing or there twice
  std::uint64_t events_acknowledged_ = 0;
  ProcessEnd end_ = ProcessEnd::kRunning;
  bool writer_has_gone_ = false;
  int known_exit_status_ = -1;
  std::uint64_t impossible_events_ = 0;
  std::string silenced_;
};

}  // namespace castscope::relay

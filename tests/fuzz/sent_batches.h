// Batches as a relay sends them, made of a fuzzer's bytes: well-formed in their records and columns, with any numbers
// in them. What no relay would write comes too, but seldom.
#pragma once

#include "server/ingest/testing/batch_builder.h"
#include "tests/fuzz/bytes.h"

namespace castscope::fuzz {

class SentBatches {
 public:
  explicit SentBatches(Bytes& bytes) : bytes_(bytes) {}
  // The next batch, of one of three processes; the first of each has its introduction.
  ingest::BatchBuilder next();

 private:
  void add_definition(ingest::BatchBuilder& to);
  void add_events(ingest::BatchBuilder& to);
  void add_counter(ingest::BatchBuilder& to);
  void add_lane(ingest::BatchBuilder& to);
  void add_end(ingest::BatchBuilder& to);
  std::uint32_t id();

  Bytes& bytes_;
  bool begun_[3] = {};
  std::uint64_t next_event_[4] = {};  // of each lane
};

}  // namespace castscope::fuzz

// A job's shared memory (agent/lanes/segment_reader.h), and the batches that a relay makes of it. The input is what the
// process has left there, piece by piece, and then what it writes while it is being read.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "server/ingest/validation/validator.h"
#include "server/relay/segment_source.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/checking_sink.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/scratch.h"

namespace castscope::fuzz {
namespace {

constexpr std::uint64_t kMostSegment = 1u << 18;
constexpr int kRounds = 3;  // the process writes between them

class SegmentOnDisk {
 public:
  SegmentOnDisk() : path_(scratch_file("1-1.lanes", "")), file_(open(path_.c_str(), O_RDWR | O_CLOEXEC)) {}
  ~SegmentOnDisk() { close(file_); }
  SegmentOnDisk(const SegmentOnDisk&) = delete;
  SegmentOnDisk& operator=(const SegmentOnDisk&) = delete;

  const std::string& path() const { return path_; }
  void begin(std::uint64_t bytes) {
    const bool emptied = ftruncate(file_, 0) == 0 && ftruncate(file_, static_cast<off_t>(bytes)) == 0;
    CASTSCOPE_PROMISE(emptied, "a fuzzer can make a temporary file longer");
  }
  void write(std::string_view* input) { Pieces(input).write_into(file_, kMostSegment); }

 private:
  std::string path_;
  int file_;
};

// What the segment counts, by lane and site.
using Counts = std::multimap<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t>;

Counts counts_of(lanes::SegmentReader& reader) {
  Counts casts;
  for (std::size_t i = 0; i < reader.lane_count(); ++i) {
    const std::uint32_t lane = reader.lane_state(i).id;
    for (const lanes::CounterValues& values : reader.counters(i)) casts.insert({{lane, values.site}, values.casts});
    CASTSCOPE_PROMISE(reader.released(i) <= reader.taken(i), "a reader gives back what it has taken");
  }
  const lanes::ProcessState state = reader.process_state();
  casts.insert({{0, state.lost.site}, state.lost.casts});
  casts.insert({{0, state.lost_other.site}, state.lost_other.casts});
  return casts;
}

void check_counts(const v1::Counters& told, const Counts& casts) {
  for (int i = 0; i < told.lane_size(); ++i) {
    const auto [first, last] = casts.equal_range({told.lane(i), told.site(i)});
    const auto is_told = [&](const auto& one) { return one.second == told.casts(i); };
    CASTSCOPE_PROMISE(std::any_of(first, last, is_told), "a relay tells what a counter has, and nothing else");
  }
}

class SegmentReading {
 public:
  explicit SegmentReading(std::unique_ptr<lanes::SegmentReader> reader)
      : source_(1, "host/1/1/1", "host", std::move(reader), std::chrono::seconds(0)) {}

  void round(relay::SegmentSource::End end) {
    source_.drain({});
    const auto batches = source_.make_batches(end, {});
    const Counts counts = counts_of(source_.reader());
    for (const auto& made : batches) {
      check_counts(made.message->batch().counters(), counts);
      collect(made.message->batch());
      for (const relay::Receipt& receipt : made.receipts) source_.acknowledged(receipt);
    }
    (void)source_.summary();
  }
  // A collector that was started anew takes all of it.
  void introduce_anew() {
    CheckingSink sink;
    ingest::RunValidator validator;
    for (const auto& message : source_.introduction()) {
      const ingest::Verdict verdict = validator.apply(message->batch(), sink);
      CASTSCOPE_PROMISE(verdict.failed.ok(), "a sink that takes everything does not fail");
    }
  }

 private:
  void collect(const v1::Batch& batch) {
    const ingest::Verdict verdict = validator_.apply(batch, sink_);
    CASTSCOPE_PROMISE(verdict.failed.ok(), "a sink that takes everything does not fail");
    CASTSCOPE_PROMISE(verdict.rejected.ok() || !verdict.rejected.message().empty(), "a rejection has a sentence");
  }

  relay::SegmentSource source_;
  ingest::RunValidator validator_;
  CheckingSink sink_;
};

}  // namespace

CASTSCOPE_FUZZER(segment, 1500, 16384) {
  static SegmentOnDisk segment;
  Bytes bytes(input);
  const std::uint64_t size = bytes.take<std::uint32_t>() % kMostSegment;
  std::string_view pieces = bytes.rest();
  segment.begin(size);
  segment.write(&pieces);
  std::unique_ptr<lanes::SegmentReader> reader;
  std::string error;
  const auto outcome = lanes::SegmentReader::open(segment.path(), &reader, &error);
  CASTSCOPE_PROMISE((outcome == lanes::SegmentReader::Outcome::kOpen) == (reader != nullptr),
                    "an open segment is open");
  CASTSCOPE_PROMISE(outcome != lanes::SegmentReader::Outcome::kRefused || !error.empty(), "a refusal has a sentence");
  if (reader == nullptr) return;
  SegmentReading reading(std::move(reader));
  for (int i = 0; i < kRounds; ++i) {
    reading.round(i + 1 < kRounds ? relay::SegmentSource::End::kNone : relay::SegmentSource::End::kSeen);
    segment.write(&pieces);
  }
  reading.introduce_anew();
}

}  // namespace castscope::fuzz

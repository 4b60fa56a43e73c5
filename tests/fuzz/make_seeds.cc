// Makes those inputs of the corpora that no hand writes, out of castscope's own writers:
//   fuzz_seeds tests/fuzz/corpus
// Run it when a format has changed. Inputs that are text (policies, settings, requests, …) are written by hand.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>

#include "agent/lanes/event_views.h"
#include "agent/lanes/lane_writer.h"
#include "agent/lanes/segment_writer.h"
#include "server/exported/testing/test_program.h"
#include "server/ingest/testing/batch_builder.h"
#include "server/policy/compiled.h"
#include "server/policy/load.h"
#include "server/relay/sending/spool.h"
#include "server/report/forms/formats.h"
#include "tests/fuzz/sample_file.h"
#include "tests/fuzz/scratch.h"

namespace castscope::fuzz {
namespace {

namespace fs = std::filesystem;

fs::path corpora;

void seed(const std::string& fuzzer, const std::string& name, const std::string& bytes) {
  fs::create_directories(corpora / fuzzer);
  std::ofstream(corpora / fuzzer / name, std::ios::binary) << bytes;
}

template <typename T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string with_length(const std::string& bytes) { return bytes_of(static_cast<std::uint16_t>(bytes.size())) + bytes; }

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The pieces of a file that are not zero: see Pieces.
std::string pieces_of(const std::string& file) {
  constexpr std::size_t kGap = 16;
  std::string pieces;
  for (std::size_t at = 0; at < file.size();) {
    at = file.find_first_not_of('\0', at);
    if (at == file.npos) break;
    std::size_t end = file.find(std::string(kGap, '\0'), at);
    end = std::min({end, file.size(), at + 60'000});
    pieces += bytes_of(static_cast<std::uint32_t>(at)) + bytes_of(static_cast<std::uint16_t>(end - at));
    pieces += file.substr(at, end - at);
    at = end;
  }
  return pieces;
}

template <typename T>
void define(lanes::SegmentWriter& segment, lanes::DefinitionKind kind, std::uint32_t id, const T& value) {
  segment.define(kind, id, &value, sizeof value);
}

void define_a_site(lanes::SegmentWriter& segment) {
  using lanes::DefinitionKind;
  segment.define(DefinitionKind::kString, 1, "train.py", 8);
  define(segment, DefinitionKind::kCode, 1, lanes::CodeDefinition{1, 1, 1});
  struct {
    lanes::StackDefinition head;
    lanes::Frame frame;
  } const stack{{1, 0}, {1, 7}};
  define(segment, DefinitionKind::kStack, 1, stack);
  lanes::SiteDefinition site{};
  site.stack = 1;
  site.cause = lanes::Cause::kAutocast;
  define(segment, DefinitionKind::kSite, 1, site);
  define(segment, DefinitionKind::kOperatorUse, 2, lanes::OperatorUseDefinition{});
}

// Like that of a process that has cast in two threads, and has ended.
std::string segment() {
  std::string error;
  const std::string folder = fs::path(scratch_path("x")).parent_path();
  const std::unique_ptr<lanes::SegmentWriter> writer(lanes::SegmentWriter::create(
      {.directory = folder, .ring_events = lanes::kSmallestRingEvents, .clock = lanes::Clock::kMonotonicNs}, &error));
  define_a_site(*writer);
  for (std::uint32_t thread = 1; thread <= 2; ++thread) {
    lanes::Lane* const lane = writer->acquire_lane(thread);
    lanes::Counter* const counter = writer->new_counter(lane, 1);
    lanes::Counter* const use = writer->new_counter(lane, 2);
    lanes::LaneWriter events(*writer, *lane);
    for (std::uint32_t i = 0; i < 4; ++i) {
      lanes::Event& event = *events.begin_event();
      event.kind = lanes::EventKind::kCast;
      event.site = 1, event.time = 1000 * i, event.bytes = 64;
      events.publish();
      counter->casts.fetch_add(1);
    }
    use->casts.store(3);
  }
  writer->mark_end(lanes::EndMark::kExited, 1);
  return content(writer->path());
}

void seed_segments() {
  const std::string file = segment();
  const std::string size = bytes_of(static_cast<std::uint32_t>(std::min<std::size_t>(file.size(), (1u << 18) - 1)));
  const std::string first = size + pieces_of(file);
  seed("segment", "ended", first);
  // What the process writes between two readings: five casts more, and then the file's head anew.
  std::string more = bytes_of(~std::uint32_t{0});
  for (std::uint32_t at = 4096; at < 4096 + 64; at += 8)
    more += bytes_of(at) + bytes_of(std::uint16_t{2}) + std::string("\5\0", 2);
  seed("segment", "goes_on", first + more + bytes_of(~std::uint32_t{0}) + pieces_of(file.substr(0, 4096)));
  seed("segment", "empty", size);
}

void seed_event_blocks() {
  std::vector<lanes::Event> events;
  for (std::uint32_t i = 0; i < 40; ++i) {
    lanes::Event& event = events.emplace_back();
    event.kind = static_cast<lanes::EventKind>(1 + i % 16);
    event.site = 1 + i % 3, event.time = 1000 * i, event.step = i / 10, event.duration = 500, event.bytes = 64;
    lanes::EventWords::tensor(event) = 0x7f0000001000 + i % 4;
  }
  const std::string packed = wire::pack(events);
  seed("event_block", "as_it_is", '\0' + packed);
  seed("event_block", "sealed", '\1' + packed);
  seed("event_block", "columns",
       "\2\2" + with_length("\1\1") + '\0' + with_length("\1\1") + '\0' + with_length(std::string(8, '\0')) + '\0' +
           with_length("\4\4") + '\0' + with_length("\1") + '\0' + "bits");
  std::string plain = "\3";
  for (const lanes::Event& event : std::span(events).first(8)) plain += bytes_of(event) + '\1';
  seed("event_block", "events", plain);
}

std::string message(const ingest::BatchBuilder& batch) {
  v1::RelayMessage one;
  *one.mutable_batch() = batch;
  return with_length(one.SerializeAsString());
}

v1::RelayMessage hello() {
  v1::RelayMessage message;
  v1::Hello& hello = *message.mutable_hello();
  hello.set_lowest_protocol(1);
  hello.set_run_id("r1");
  hello.set_relay("relay1");
  hello.set_host("host");
  hello.add_command("python");
  hello.set_start_epoch_ns(1'795'000'000'000'000'000);
  hello.set_run_key("0123456789abcdef");
  return message;
}

v1::RelayMessage goodbye(std::uint64_t sequence) {
  v1::RelayMessage message;
  message.mutable_goodbye()->set_sequence(sequence);
  message.mutable_goodbye()->add_notices("a notice");
  message.mutable_goodbye()->add_missing()->set_sentence("something is missing");
  return message;
}

ingest::BatchBuilder plain_batch() {
  ingest::BatchBuilder batch("plain");
  batch.begin(7).sequence(2);
  v1::Definition& stack = *batch.batch().add_plain_definitions();
  stack.set_local_id(1);
  stack.mutable_define_stack()->add_frames()->set_file("a.py");
  v1::Definition& site = *batch.batch().add_plain_definitions();
  site.set_local_id(1);
  site.mutable_define_site()->set_stack(1);
  site.mutable_define_site()->set_from_dtype("float32");
  site.mutable_define_site()->set_to_dtype("bfloat16");
  site.mutable_define_site()->set_device("cpu");
  v1::Events& events = *batch.batch().add_event_blocks();
  events.set_lane(1);
  events.set_event_count(1);
  events.add_plain_events()->mutable_cast()->set_site(1);
  return batch;
}

void seed_messages() {
  using ingest::BatchBuilder;
  const std::string begin = with_length(hello().SerializeAsString());
  BatchBuilder first;
  first.sequence(1).begin().text(1, "train.py").define(lanes::DefinitionKind::kCode, 1, lanes::CodeDefinition{1, 1, 1});
  lanes::SiteDefinition site{};
  site.stack = 1;
  first.stack(1, {{1, 7}}).site(1, site).casts(1, 0, 3, 1).counter(1, 1, 3).lane(1, 3);
  BatchBuilder last;
  last.sequence(2).counter(1, 1, 4, 2).counter(1, 9, 1).lane(1, 3, 1).end(v1::PROCESS_END_KIND_EXITED, 0).flush();
  seed("relay_messages", "one_process",
       begin + message(first) + message(last) + with_length(goodbye(3).SerializeAsString()));
  v1::RelayMessage ask;
  ask.mutable_ask();
  seed("relay_messages", "plain", begin + message(plain_batch()) + with_length(ask.SerializeAsString()));
  seed("relay_messages", "twice", begin + message(first) + begin + message(first) + message(last));
}

void seed_spools() {
  const fs::path path = scratch_path("made.spool");
  {
    const auto spool = relay::Spool::create(path, {.address = "127.0.0.1:7390"}, hello().hello(), 1 << 20);
    v1::RelayMessage batch;
    *batch.mutable_batch() = ingest::BatchBuilder().begin().sequence(1);
    (*spool)->add_introduction(batch).IgnoreError();
    (void)(*spool)->add(batch);
    (void)(*spool)->add(goodbye(2));
  }
  seed("spool", "left", '\0' + content(path));
  seed("spool", "records",
       '\1' + with_length("w127.0.0.1:7390\ntls\n/etc/ca.pem") +
           with_length('h' + hello().hello().SerializeAsString()) + with_length("m\x1a") + with_length("x"));
}

void seed_reports() {
  const std::string path = scratch_file("reported.castscope", sample_file());
  std::ostringstream report;
  (void)report::write_report(path, report::Format::kJson, {}, report);
  // Without the blanks at the beginnings of lines.
  seed("report", "sample.json", nlohmann::ordered_json::parse(report.str()).dump());
}

void seed_programs() {
  using namespace exported;  // NOLINT(google-build-using-namespace): the verbs of its tests
  const TestGraph region = TestGraph().input("x", kF32).region(
      "cpu", kBF16, true, TestGraph().input("x", kF32).op("aten.exp.default", {"x"}, "y", kF32, 4).gives("y"), {"x"},
      "y", kBF16);
  seed("exported", "dropped.json", program_json(dropped(), {"w"}).dump());
  seed("exported", "region.json", program_json(region).dump());
  const TestFolder folder;
  seed("pt2", "stored", '\1' + content(folder.pt2(program_json(region))));
  seed("pt2", "packed",
       '\0' +
           content(folder.zip("packed.pt2",
                              {{"m/models/model.json", program_json(region).dump()}, {"m/archive_format", "pt2"}}, 9)));
  seed("pt2", "old",
       '\1' + content(folder.zip(
                  "old.pt2", {{"serialized_exported_program.json", program_json(region).dump()}, {"version", "8.3"}})));
  seed("pt2", "compiled",
       '\1' +
           content(folder.zip("compiled.pt2", {{"m/archive_format", "pt2"}, {"m/data/aotinductor/model/a.so", "x"}})));
}

void seed_policies() {
  const std::string path = scratch_file("small.json", R"({"device": "cpu", "operators": {"lower_precision_fp": ["mm"],
      "banned": {"exp": "why\tnot"}}, "never_cast": {"a::b": ["c"]}, "modules": {"head": "fp32", "a.*": "bfloat16"},
      "functions": {"a:b": "half"}, "cache": {"max_bytes": 5, "keep": "step", "views": false}})");
  auto policy = policy::load(path);
  if (policy.ok()) policy->name = "small.json";
  // Most of its lines say what PyTorch's own kernels do.
  std::istringstream lines(policy.ok() ? policy::compiled(*policy) : "");
  std::string few;
  int pytorchs = 0;
  for (std::string line; std::getline(lines, line);)
    if (!(line.starts_with("pytorch") || line.starts_with("known")) || ++pytorchs % 50 == 0) few += line + "\n";
  seed("policy_table", "small", few);
}

// For fuzzers that make something well-formed of any bytes.
void seed_by_chance(const std::string& fuzzer, std::size_t bytes) {
  std::mt19937_64 random;
  for (int i = 0; i < 3; ++i) {
    std::string input(bytes, '\0');
    for (char& byte : input) byte = static_cast<char>(random());
    seed(fuzzer, "chance" + std::to_string(i), input);
  }
}

void seed_run_files() {
  const std::string& file = sample_file();
  const auto change = [](std::uint32_t at, const std::string& bytes) {
    return bytes_of(at) + bytes_of(static_cast<std::uint16_t>(bytes.size())) + bytes;
  };
  // First whether the run was finished, then where its file is cut (2 bytes), then how it is read (2 bytes).
  const std::string whole = std::string("\1\0\0\1\0", 5), unfinished = std::string("\0\0\0\1\0", 5);
  for (char way = 0; way < 5; ++way) {
    seed("run_file", "whole" + std::to_string(way), std::string("\1\0\0", 3) + way + '\0');
    seed("run_rows", "whole" + std::to_string(way), std::string(1, way) + '\0');
  }
  seed("run_file", "cut_short", std::string("\1\0\xc0\1\0", 5));
  seed("run_file", "head", whole + change(16, std::string("\x10\0", 2)) + change(56, "\2"));
  seed("run_file", "pages",
       unfinished + change(static_cast<std::uint32_t>(file.size() / 2), "\x0d\0\0") +
           change(512 * 9 + 3, std::string("\0\1\1", 3)) + change(100, "\5"));
}

}  // namespace

void make_seeds(const std::string& folder) {
  corpora = folder;
  seed_segments();
  seed_event_blocks();
  seed_messages();
  seed_spools();
  seed_reports();
  seed_programs();
  seed_policies();
  seed_run_files();
  seed_by_chance("run_rows", 60);
  seed_by_chance("stored_run", 1500);
  seed_by_chance("library_file", 40);
}

}  // namespace castscope::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: fuzz_seeds FOLDER-OF-CORPORA\n", stderr);
    return 2;
  }
  castscope::fuzz::make_seeds(argv[1]);
  return 0;
}

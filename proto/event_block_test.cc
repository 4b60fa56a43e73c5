#include "proto/event_block.h"
#include "agent/lanes/event_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "proto/training_stream.h"

namespace castscope::wire {
namespace {

using lanes::Event;
using lanes::EventKind;

std::vector<Event> round_trip(const std::vector<Event>& events, std::vector<EventKey>* keys = nullptr) {
  std::vector<Event> result;
  const absl::Status status = unpack(pack(events), events.size(), &result, keys);
  EXPECT_TRUE(status.ok()) << status;
  return result;
}
bool same(const std::vector<Event>& a, const std::vector<Event>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Event)) == 0);
}
std::string refusal(std::string_view packed, std::size_t limit = kMostEventsInBlock) {
  std::vector<Event> events(1);
  const absl::Status status = unpack(packed, limit, &events);
  EXPECT_EQ(events.size(), 1u) << "a refused block leaves the events as they were";
  return std::string(status.message());
}
Event random_event(std::mt19937_64& random) {
  Event event;
  for (std::size_t i = 0; i < sizeof event; i += 8) {
    const std::uint64_t word = random() >> (random() % 64);
    std::memcpy(reinterpret_cast<char*>(&event) + i, &word, 8);
  }
  event.kind = static_cast<EventKind>(1 + random() % static_cast<int>(lanes::kLastEventKind));
  event.reserved = 0;
  return event;
}

// A deep step in a training stream: each kind of event with its meaning for the fields that casts use for something
// else.
std::vector<Event> deep_stream() {
  std::vector<Event> events = training_stream(300);
  std::vector<Event> deep(8);
  deep[0].kind = deep[7].kind = EventKind::kDeep;
  deep[0].flags = 1;
  deep[1].site = 7;
  put(deep[1], lanes::ValuesEvent{.most = 70'000.25,
                                  .elements = 1'000'000,
                                  .sampled = 256,
                                  .not_finite = 1,
                                  .zeros = 20,
                                  .integers = 3,
                                  .beyond = 2});
  deep[1].ndim = 4;
  deep[2].kind = EventKind::kBackward;
  deep[2].site = 31;
  deep[3].kind = EventKind::kOptimizer;
  deep[3].site = 32;
  deep[4].kind = EventKind::kScaler;
  deep[4].site = 33;
  put(deep[4], lanes::ScalerEvent{65'536.0, 32'768.0});
  deep[5].kind = EventKind::kPass;
  deep[5].site = 34;
  lanes::EventWords::tensor(deep[5]) = 0x7f0000000040;
  lanes::EventWords::dims(deep[5])[0] = 64, deep[5].ndim = 1;
  deep[6].kind = EventKind::kOperator;
  deep[6].site = 35;
  deep[6].bytes = 8192;
  deep[6].flags = 2;
  for (std::size_t i = 0; i < deep.size(); ++i) {
    const Event before = events[100 + i * 20];
    deep[i].time = before.time + 1;
    deep[i].step = before.step;
    if (deep[i].kind == EventKind::kOperator) {  // it comes after the events within it
      deep[i].time = events[95 + i * 20].time - 1;
      deep[i].duration = static_cast<std::uint32_t>(before.time + 100 - deep[i].time);
    }
    events.insert(events.begin() + static_cast<std::ptrdiff_t>(101 + i * 20), deep[i]);
  }
  return events;
}

TEST(EventBlockTest, AnEmptyBlockHoldsNothing) { EXPECT_TRUE(round_trip({}).empty()); }

TEST(EventBlockTest, ATrainingStreamComesBackAsItWas) {
  const std::vector<Event> events = training_stream(50'000);
  EXPECT_TRUE(same(round_trip(events), events));
}

TEST(EventBlockTest, ADeepStepComesBackAsItWas) {
  const std::vector<Event> events = deep_stream();
  EXPECT_TRUE(same(round_trip(events), events));
}

TEST(EventBlockTest, OperatorsComeBackAsTheyWere) {
  const std::vector<Event> events = training_stream(50'000, 7, /*deep=*/true);
  EXPECT_TRUE(same(round_trip(events), events));
}

// The casts within an operator are written before it and began after it: neither makes the other harder to predict.
TEST(EventBlockTest, OperatorsAroundCastsTakeLessThanSixBytesAnEvent) {
  const std::vector<Event> events = training_stream(16'384, 42, /*deep=*/true);
  EXPECT_LT(static_cast<double>(pack(events).size()) / static_cast<double>(events.size()), 6.0);
}

// A sample's number is not an address: the addresses around it are as near to each other as without it.
TEST(EventBlockTest, AValueAmongAddressesCostsOnlyItself) {
  std::vector<Event> casts, values, mixed;
  for (int i = 0; i < 2000; ++i) {
    Event& cast = casts.emplace_back();
    cast.kind = EventKind::kCast;
    lanes::EventWords::tensor(cast) = 0x7f0000000000 + static_cast<std::uint64_t>(i) * 4160;
    Event& value = values.emplace_back();
    put(value, lanes::ValuesEvent{.most = 1.0 + i});
    mixed.push_back(cast);
    mixed.push_back(value);
  }
  EXPECT_LT(pack(mixed).size(), pack(casts).size() + pack(values).size() + 500);
  EXPECT_TRUE(same(round_trip(mixed), mixed));
}

TEST(EventBlockTest, RefusesKindsThatAreOnNoList) {
  Event event{};
  event.kind = static_cast<EventKind>(static_cast<int>(lanes::kLastEventKind) + 1);
  EXPECT_THAT(refusal(pack(std::span(&event, 1))), testing::HasSubstr("makes no sense"));
}

TEST(EventBlockTest, AnyFieldsComeBackAsTheyWere) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Event> events;
    for (std::size_t n = random() % 100; events.size() < n;) events.push_back(random_event(random));
    ASSERT_TRUE(same(round_trip(events), events)) << round;
  }
}

TEST(EventBlockTest, NamesEachKeyOnce) {
  std::vector<Event> events(5);
  for (std::size_t i = 0; i < events.size(); ++i) {
    events[i].kind = i == 3 ? EventKind::kRegionEnter : EventKind::kHit;
    events[i].site = i % 2 == 0 ? 10 : 20;
  }
  std::vector<EventKey> keys;
  round_trip(events, &keys);
  EXPECT_THAT(keys, testing::ElementsAre(EventKey{EventKind::kHit, 10}, EventKey{EventKind::kHit, 20},
                                         EventKey{EventKind::kRegionEnter, 20}));
}

TEST(EventBlockTest, ATrainingStreamTakesLessThanSixBytesAnEvent) {
  const std::vector<Event> events = training_stream(16'384);
  EXPECT_LT(static_cast<double>(pack(events).size()) / static_cast<double>(events.size()), 6.0);
}

TEST(EventBlockTest, AppendsToWhatIsThere) {
  const std::vector<Event> events = training_stream(100);
  std::vector<Event> both;
  ASSERT_TRUE(unpack(pack(events), 100, &both).ok());
  ASSERT_TRUE(unpack(pack(events), 100, &both).ok());
  EXPECT_EQ(both.size(), 200u);
}

TEST(EventBlockTest, RefusesMoreThanTheLimit) {
  EXPECT_THAT(refusal(pack(training_stream(101)), 100), testing::HasSubstr("101 events where at most 100"));
}

// A block of an older format is not damaged: it is recognized before anything in it is believed.
TEST(EventBlockTest, RefusesAnotherFormatAsWhatItIs) {
  std::string packed = pack(training_stream(10));
  packed[0] = 2;
  EXPECT_EQ(refusal(packed), "events packed in format 2, this castscope reads format 4");
  std::vector<Event> events;
  EXPECT_TRUE(absl::IsUnimplemented(unpack(packed, 10, &events)));
}

// A block that was packed when the format got its number still means the same. When this fails, the packing has
// changed: raise kEventBlockFormat and kProtocol, and make the file anew with CASTSCOPE_UPDATE_GOLDEN=1.
TEST(EventBlockTest, ThePackingIsThatOfItsNumber) {
  const std::vector<Event> events = deep_stream();
  const std::string path = std::string(CASTSCOPE_SOURCE_DIR) + "/tests/golden/event_block/format-" +
                           std::to_string(kEventBlockFormat) + ".bin";
  if (std::getenv("CASTSCOPE_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << pack(events);
  std::stringstream golden;
  golden << std::ifstream(path, std::ios::binary).rdbuf();
  std::vector<Event> result;
  const absl::Status status = unpack(golden.str(), events.size(), &result);
  ASSERT_TRUE(status.ok()) << path << ": " << status;
  EXPECT_TRUE(same(result, events));
}

TEST(EventBlockTest, RefusesWhatIsCutShort) {
  const std::string packed = pack(training_stream(500));
  for (std::size_t n = 0; n < packed.size(); n += 7) EXPECT_NE(refusal(packed.substr(0, n)), "") << n;
}

TEST(EventBlockTest, RefusesWhatIsTooLong) { EXPECT_NE(refusal(pack(training_stream(10)) + "x"), ""); }

TEST(EventBlockTest, AClaimOfManyEventsCostsNoMemory) {
  std::string packed = pack(std::vector<Event>{});
  packed.replace(kBodyBegin, 1, "\xff\xff\x3f");  // 2^20 - 1 events
  seal(packed);
  EXPECT_THAT(refusal(packed), testing::HasSubstr("too short for its events"));
}

TEST(EventBlockTest, AnyOtherByteIsNoticed) {
  const std::string good = pack(training_stream(200));
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    EXPECT_NE(refusal(bad), "") << at;
  }
}

// Every byte of a good block overwritten in turn, and the checksum made to fit: refused or read, never a crash (run
// under ASan and UBSan too).
TEST(EventBlockTest, SurvivesDamage) {
  std::mt19937_64 random(2);
  std::vector<Event> source;
  for (int i = 0; i < 60; ++i) source.push_back(random_event(random));
  const std::string good = pack(source);
  std::vector<Event> events;
  for (std::size_t at = 0; at < good.size(); ++at)
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ change);
      seal(bad);
      events.clear();
      if (unpack(bad, 10'000, &events).ok()) {
        EXPECT_LE(events.size(), 10'000u);
      }
    }
}

TEST(EventBlockTest, SurvivesGarbage) {
  std::mt19937_64 random(3);
  std::vector<Event> events;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random() % 200, '\0');
    for (char& b : bytes) b = static_cast<char>(random());
    if (bytes.size() >= kBodyBegin && round % 2 == 0) {
      bytes[0] = kEventBlockFormat;
      seal(bytes);
    }
    events.clear();
    if (!unpack(bytes, 1000, &events).ok()) {
      EXPECT_TRUE(events.empty());
    }
  }
}

}  // namespace
}  // namespace castscope::wire

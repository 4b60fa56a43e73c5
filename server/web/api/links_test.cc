// What the API tells of the events that belong to an event.
#include <gtest/gtest.h>

#include "server/web/api/routes_test.h"

namespace castscope::web {
namespace {

using store::kBFloat16;
using store::kFloat32;
using store::operand;

class LinksTest : public RoutesTest {
 protected:
  // A weight that is cast and kept, used, used again, cleared, and cast anew; and a value that goes from a matrix
  // product to a norm, which has it cast up.
  void record_flows() {
    auto store = create();
    store::TestRun run(*store);
    const auto region = run.region("train.py", 10);
    const auto weight = run.weight("train.py", 11, "head"), other = run.weight("train.py", 12, "tail");
    const auto linear = run.use({.op = "aten::linear", .line = 11, .operands = {operand(kBFloat16)}});
    const auto norm = run.use({.op = "aten::layer_norm", .line = 13, .operands = {operand(kFloat32)}});
    run.step().deep().enter(region);
    for (int i = 0; i < 2; ++i) {
      run.cast(weight, 0x100, true, 4096).cast(other, 0x200, true, 4096).hit(weight, 0x100).hit(weight, 0x100);
      run.called_with_event(linear, 2'000).called_with_event(norm, 1'000);
      run.flowed(run.flow(linear, norm)).exit().enter(region);
    }
    run.exit().step().called_with_event(norm, 1'000).shallow().end();
    (void)store->finish({.end_ns = start().start_ns + 2'000'000'000, .exit_status = 0, .signal = {}, .complete = true});
    EXPECT_TRUE(store->close().ok());
    show();
    loaded();
  }

  Json of_kind(const std::string& kind) {
    const Json tracks = json("runs/run")["tracks"];
    for (const Json& track : tracks)
      if (track["track_kind"] == kind) return track["track"];
    return nullptr;
  }
  // All events of a track with what belongs to them: "cache_hit@5: filled_by down@1".
  std::string links_on(const std::string& kind) {
    const std::string track = of_kind(kind).dump();
    std::string all;
    std::int64_t at = -1;
    while (true) {
      const Json next = json("runs/run/neighbour", "track=" + track + "&direction=next&at_ns=" + std::to_string(at));
      if (next["event"].is_null()) return all;
      at = next["event"]["begin_ns"];
      const Json event = json("runs/run/event", "track=" + track + "&at_ns=" + std::to_string(at))["event"];
      all += event["shade_kind"].get<std::string>() + " " + number(event) + ":";
      for (const Json& link : event["linked_events"])
        all += " " + link["link_kind"].get<std::string>() + " " + number(link["event"]);
      all += "\n";
    }
  }
  // Events are numbered in the order in which they are first told of.
  std::string number(const Json& event) {
    const auto key = std::pair(event["track"].get<int>(), event["begin_ns"].get<std::int64_t>());
    return std::to_string(numbers_.try_emplace(key, numbers_.size() + 1).first->second);
  }

 private:
  std::map<std::pair<int, std::int64_t>, std::size_t> numbers_;
};

TEST_F(LinksTest, AHitLeadsToTheCastThatFilledTheCacheAndTheCastToItsFirstHit) {
  record_flows();
  EXPECT_EQ(links_on("casts"),
            "down 1: serves 2\n"
            "down 3:\n"
            "cache_hit 2: filled_by 1 consumed_by 4\n"
            "cache_hit 5: filled_by 1 consumed_by 4\n"
            "down 6: serves 7\n"
            "down 8:\n"
            "cache_hit 7: filled_by 6 consumed_by 9\n"
            "cache_hit 10: filled_by 6 consumed_by 9\n");
}

TEST_F(LinksTest, AValueIsFollowedFromCallToCallWithinItsStep) {
  record_flows();
  EXPECT_EQ(links_on("operators"),
            "operator 1: goes_to 2\n"
            "operator 2: made_by 1\n"
            "operator 3: goes_to 4\n"
            "operator 4: made_by 3\n"
            "operator 5:\n");
}

}  // namespace
}  // namespace castscope::web

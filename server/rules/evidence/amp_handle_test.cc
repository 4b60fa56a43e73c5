// Advice about the region that castscope.amp's handle opens uses the terms of that handle.
#include "server/rules/evidence/amp_handle.h"

#include <gmock/gmock.h>

#include "server/rules/testing/rules_test.h"
#include "server/store/write/run_store.h"

namespace castscope::rules {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPackage = "/venv/lib/python3.11/site-packages/castscope/amp/";

store::CodeLocation frame(const std::string& file, const std::string& function) {
  return {kPackage + file, function, 44};
}

// Opens a region as amp.init() at this line does, or amp.initialize() where `later`.
std::uint32_t opened(TestRun& run, bool later = false, store::RegionInfo info = TestRun::default_region()) {
  std::vector<store::CodeLocation> frames = {TestRun::torch_frame("amp/autocast_mode.py", "autocast.__enter__"),
                                             frame("handle.py", "AmpHandle._enter"), frame("handle.py", "init")};
  if (later) frames.push_back(frame("levels.py", "initialize"));
  frames.push_back(TestRun::own_frame("<module>", 5));
  info.stack = run.stack(std::move(frames));
  return run.region("", 0, info);
}

class AmpHandleTest : public RulesTest {
 protected:
  std::string fix_of(std::string_view rule, const std::function<void(TestRun&)>& act) {
    for (const Finding& finding : judged(act))
      if (finding.rule == rule) return finding.fix;
    ADD_FAILURE() << rule << " says nothing";
    return "";
  }
};

// The advice mentions no torch.autocast, which the job does not write.
const auto kOfNoRegion = Not(::testing::AnyOf(HasSubstr("torch.autocast("), HasSubstr(" cache_enabled"),
                                              HasSubstr("torch.clear_autocast_cache"), HasSubstr("Open the")));

// Runs backward and an optimizer step in the region; the cache is cleared by hand or not.
void loop(TestRun& run, std::uint32_t region, bool clears) {
  const auto weight = run.weight("train.py", 10, "fc");
  const auto backward = run.fact(FactKind::kBackward, 12, {.subject = region, .text = ""});
  run.enter(region);
  for (int i = 0; i < 4; ++i) {
    if (clears) run.clear();
    clears || i == 0 ? run.cast(weight, kWeight, true) : run.hit(weight, kWeight);
    run.backward(backward).optimizer();
  }
  run.exit();
}

TEST_F(AmpHandleTest, RegionSpansSteps) {
  EXPECT_THAT(fix_of("region-spans-steps", [](TestRun& run) { loop(run, opened(run), false); }),
              AllOf(HasSubstr("with amp_handle.scale_loss(loss, optimizer)"), HasSubstr("amp_handle._clear_cache()"),
                    HasSubstr("amp.init(enable_caching=False)"), kOfNoRegion));
  EXPECT_THAT(fix_of("region-spans-steps", [](TestRun& run) { loop(run, opened(run), true); }),
              AllOf(HasSubstr("amp_handle.scale_loss(loss, optimizer)"), kOfNoRegion));
  EXPECT_THAT(fix_of("region-spans-steps", [](TestRun& run) { loop(run, opened(run, true), false); }),
              AllOf(HasSubstr("with amp.scale_loss(loss, optimizer)"), Not(HasSubstr("amp_handle"))));
}

TEST_F(AmpHandleTest, RegionContainsBackward) {
  EXPECT_THAT(fix_of("region-contains-backward", [](TestRun& run) { loop(run, opened(run), true); }),
              AllOf(HasSubstr("with amp_handle.scale_loss(loss, optimizer) as scaled_loss: scaled_loss.backward()"),
                    HasSubstr("amp_handle.disable_casts()"), kOfNoRegion));
  EXPECT_THAT(fix_of("region-contains-backward", [](TestRun& run) { loop(run, opened(run, true), true); }),
              AllOf(HasSubstr("with amp.scale_loss(loss, optimizer)"), Not(HasSubstr("amp_handle"))));
}

// A region of the job's own within the handle's, or beside it, is the job's.
TEST_F(AmpHandleTest, TheJobsOwnRegionIsNotTheHandles) {
  EXPECT_THAT(fix_of("region-contains-backward",
                     [](TestRun& run) {
                       auto info = TestRun::default_region();
                       info.parent = opened(run);
                       info.nesting = 2;
                       const auto inner = run.region("train.py", 8, info);
                       const auto backward = run.fact(FactKind::kBackward, 12, {.subject = inner, .text = ""});
                       run.enter(info.parent).enter(inner).backward(backward).exit().exit();
                     }),
              AllOf(HasSubstr("Let the region end"), Not(HasSubstr("amp"))));
}

TEST_F(AmpHandleTest, WeightCastRepeatedly) {
  const auto act = [](bool handle) {
    return [handle](TestRun& run) {
      auto info = TestRun::default_region();
      info.cache_enabled = false;
      const auto region = handle ? opened(run, false, info) : run.region("train.py", 5, info);
      const auto weight = run.weight("train.py", 8, "cell", WhyNotCached::kCacheDisabled);
      run.enter(region).cast(weight, kWeight).cast(weight, kWeight).exit();
    };
  };
  EXPECT_THAT(fix_of("weight-cast-repeatedly", act(true)),
              AllOf(HasSubstr("enable_caching at True in amp.init()"), kOfNoRegion));
  EXPECT_THAT(fix_of("weight-cast-repeatedly", act(false)), HasSubstr("Leave cache_enabled at True"));
}

TEST_F(AmpHandleTest, CacheStaleWeight) {
  EXPECT_THAT(fix_of("cache-stale-weight",
                     [](TestRun& run) {
                       const auto region = opened(run);
                       const auto weight = run.weight("train.py", 8, "fc");
                       const auto stale = run.stale_hit(weight, 8, lanes::Staleness::kVersion);
                       run.enter(region).deep().cast(weight, kWeight, true).hit(weight, kWeight).seen(stale).exit();
                     }),
              AllOf(HasSubstr("amp_handle.scale_loss(loss, optimizer)"), HasSubstr("amp_handle._clear_cache()"),
                    HasSubstr("amp.init(enable_caching=False)"), kOfNoRegion));
}

TEST_F(AmpHandleTest, CacheGrows) {
  EXPECT_THAT(fix_of("cache-grows",
                     [](TestRun& run) {
                       const auto region = opened(run);
                       const auto weight = run.weight("train.py", 8, "fc");
                       run.enter(region);
                       for (std::uint64_t i = 0; i < 40; ++i) run.cast(weight, kWeight + i * 0x100, true);
                       run.exit();
                     }),
              AllOf(HasSubstr("amp_handle._clear_cache()"), HasSubstr("amp.init(enable_caching=False)"), kOfNoRegion));
}

TEST_F(AmpHandleTest, CacheHoldsInput) {
  EXPECT_THAT(fix_of("cache-holds-input",
                     [](TestRun& run) {
                       const auto region = opened(run);
                       const auto input = run.input("train.py", 8, "fc");
                       run.enter(region);
                       for (std::uint64_t i = 0; i < 40; ++i) run.cast(input, kOther + i * 0x100, true);
                       run.exit();
                     }),
              AllOf(HasSubstr("amp_handle._clear_cache()"), HasSubstr("amp.init(enable_caching=False)"), kOfNoRegion));
}

TEST_F(AmpHandleTest, CacheWrongDtype) {
  EXPECT_THAT(fix_of("cache-wrong-dtype",
                     [](TestRun& run) {
                       auto info = TestRun::default_region();
                       info.parent = opened(run);
                       info.nesting = 2;
                       info.dtype = kFloat16;
                       const auto inner = run.region("train.py", 8, info);
                       const auto weight = run.weight("train.py", 9, "fc");
                       run.enter(info.parent).enter(inner).hit(weight, kWeight).exit().exit();
                     }),
              AllOf(HasSubstr("amp.init() the dtype"), HasSubstr("dtype=torch.float16"),
                    HasSubstr("amp_handle._clear_cache()"), kOfNoRegion));
}

// The sampled gradients are too small for float16, and nothing scales the loss.
TEST_F(AmpHandleTest, ScalerMissing) {
  const auto act = [](bool handle) {
    return [handle](TestRun& run) {
      auto info = TestRun::default_region();
      info.dtype = kFloat16;
      const auto region = handle ? opened(run, false, info) : run.region("train.py", 5, info);
      const auto backward = run.fact(FactKind::kBackward, 9);
      const auto step = run.fact(FactKind::kOptimizerStep, 10, {.text = "SGD"});
      const auto gradient = run.use({.op = "aten::mm",
                                     .line = 9,
                                     .operands = {operand(kFloat16, Role::kGradient), operand(kFloat16)},
                                     .phase = lanes::Phase::kBackward,
                                     .node = "MmBackward0"});
      for (int i = 0; i < 3; ++i) {
        run.deep().enter(region).exit().backward(backward);
        run.called(gradient).values(gradient, {.most = 9.5e-7, .zeros = 128});
        run.optimizer(step).shallow().step();
      }
    };
  };
  EXPECT_THAT(fix_of("scaler-missing", act(true)),
              AllOf(HasSubstr("with amp_handle.scale_loss(loss, optimizer) as scaled_loss: scaled_loss.backward()"),
                    Not(HasSubstr("GradScaler"))));
  EXPECT_THAT(fix_of("scaler-missing", act(false)), HasSubstr("torch.amp.GradScaler"));
}

TEST_F(AmpHandleTest, RegionWrongDevice) {
  EXPECT_THAT(fix_of("region-wrong-device",
                     [](TestRun& run) {
                       auto info = TestRun::default_region();
                       info.device = 1;
                       const auto region = opened(run, false, info);
                       const auto use =
                           run.use({.op = "aten::mm", .operands = {operand(kFloat32)}, .flags = lanes::kUseEligible});
                       run.enter(region).deep().called(use).shallow().exit();
                     }),
              HasSubstr("amp.init(device_type=\"cpu\")"));
}

TEST_F(AmpHandleTest, WhatTurnsAutocastOff) {
  store::RunStart start;
  auto store = store::RunStore::create((folder_ / "off.castscope").string(), start);
  TestRun run(**store);
  const auto by_init = opened(run), by_initialize = opened(run, true), own = run.region("train.py", 7);
  run.flush();
  const auto data = *(*store)->read();
  EXPECT_EQ(turned_off(data, store::RegionId(by_init)), "amp_handle.disable_casts()");
  for (const std::uint32_t region : {by_initialize, own, 0u})
    EXPECT_EQ(turned_off(data, store::RegionId(region)), "torch.autocast(device, enabled=False)");
}

}  // namespace
}  // namespace castscope::rules

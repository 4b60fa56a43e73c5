// The closed lists stand twice: for the traced process, which knows no protobuf, in agent/lanes/format.h; for everyone
// else, with their documentation, in castscope.proto. The numbers are the same.
#include <gtest/gtest.h>

#include "agent/lanes/format.h"
#include "proto/castscope/v1/castscope.pb.h"

namespace castscope {
namespace {

template <typename Ours, typename Theirs>
void expect_same(Ours ours, Theirs theirs) {
  EXPECT_EQ(static_cast<int>(ours), static_cast<int>(theirs));
}

TEST(ClosedListsTest, Causes) {
  using enum lanes::Cause;
  expect_same(kUnknown, v1::CAUSE_UNKNOWN);
  expect_same(kAutocast, v1::CAUSE_AUTOCAST);
  expect_same(kUserTo, v1::CAUSE_USER_TO);
  expect_same(kDtypeArgument, v1::CAUSE_DTYPE_ARGUMENT);
  expect_same(kCustomCast, v1::CAUSE_CUSTOM_CAST);
  expect_same(kPromotion, v1::CAUSE_PROMOTION);
  expect_same(kBackward, v1::CAUSE_BACKWARD);
  expect_same(kScript, v1::CAUSE_SCRIPT);
  expect_same(kOperator, v1::CAUSE_OPERATOR);
  expect_same(kFsdp, v1::CAUSE_FSDP);
  expect_same(kCompiled, v1::CAUSE_COMPILED);
  expect_same(kReflatten, v1::CAUSE_REFLATTEN);
  expect_same(kAnnotation, v1::CAUSE_ANNOTATION);
  expect_same(kPytorch, v1::CAUSE_PYTORCH);
  expect_same(kPytorch, v1::Cause_MAX);
}

TEST(ClosedListsTest, Roles) {
  using enum lanes::Role;
  expect_same(kUnknown, v1::ROLE_UNKNOWN);
  expect_same(kInput, v1::ROLE_INPUT);
  expect_same(kWeight, v1::ROLE_WEIGHT);
  expect_same(kBuffer, v1::ROLE_BUFFER);
  expect_same(kActivation, v1::ROLE_ACTIVATION);
  expect_same(kGradient, v1::ROLE_GRADIENT);
  expect_same(kGradient, v1::Role_MAX);
}

TEST(ClosedListsTest, Phases) {
  using enum lanes::Phase;
  expect_same(kUnknown, v1::PHASE_UNKNOWN);
  expect_same(kForward, v1::PHASE_FORWARD);
  expect_same(kBackward, v1::PHASE_BACKWARD);
  expect_same(kOther, v1::PHASE_OTHER);
  expect_same(kOther, v1::Phase_MAX);
}

TEST(ClosedListsTest, ReasonsNotToCache) {
  using enum lanes::WhyNotCached;
  expect_same(kNone, v1::WHY_NOT_CACHED_NONE);
  expect_same(kInferenceMode, v1::WHY_NOT_CACHED_INFERENCE_MODE);
  expect_same(kCacheDisabled, v1::WHY_NOT_CACHED_CACHE_DISABLED);
  expect_same(kOtherDtype, v1::WHY_NOT_CACHED_OTHER_DTYPE);
  expect_same(kNotFp32, v1::WHY_NOT_CACHED_NOT_FP32);
  expect_same(kNoRequiresGrad, v1::WHY_NOT_CACHED_NO_REQUIRES_GRAD);
  expect_same(kNotLeaf, v1::WHY_NOT_CACHED_NOT_LEAF);
  expect_same(kView, v1::WHY_NOT_CACHED_VIEW);
  expect_same(kCudaGraph, v1::WHY_NOT_CACHED_CUDA_GRAPH);
  expect_same(kNotAutocast, v1::WHY_NOT_CACHED_NOT_AUTOCAST);
  expect_same(kScript, v1::WHY_NOT_CACHED_SCRIPT);
  expect_same(kScript, v1::WhyNotCached_MAX);
}

TEST(ClosedListsTest, RegionKinds) {
  using enum lanes::RegionKind;
  expect_same(kNone, v1::REGION_KIND_NONE);
  expect_same(kContext, v1::REGION_KIND_CONTEXT);
  expect_same(kRaw, v1::REGION_KIND_RAW);
  expect_same(kInherited, v1::REGION_KIND_INHERITED);
  expect_same(kScript, v1::REGION_KIND_SCRIPT);
  expect_same(kScript, v1::RegionKind_MAX);
}

TEST(ClosedListsTest, FactKinds) {
  using enum lanes::FactKind;
  expect_same(kUnknown, v1::FACT_KIND_UNKNOWN);
  expect_same(kStaleHit, v1::FACT_KIND_STALE_HIT);
  expect_same(kLostGrad, v1::FACT_KIND_LOST_GRAD);
  expect_same(kError, v1::FACT_KIND_ERROR);
  expect_same(kUnscale, v1::FACT_KIND_UNSCALE);
  expect_same(kUpdate, v1::FACT_KIND_UPDATE);
  expect_same(kOptimizerStep, v1::FACT_KIND_OPTIMIZER_STEP);
  expect_same(kBackward, v1::FACT_KIND_BACKWARD);
  expect_same(kRegionLeaked, v1::FACT_KIND_REGION_LEAKED);
  expect_same(kRegionNeverLeft, v1::FACT_KIND_REGION_NEVER_LEFT);
  expect_same(kScale, v1::FACT_KIND_SCALE);
  expect_same(kClip, v1::FACT_KIND_CLIP);
  expect_same(kScriptRefused, v1::FACT_KIND_SCRIPT_REFUSED);
  expect_same(kScriptIgnoresDtype, v1::FACT_KIND_SCRIPT_IGNORES_DTYPE);
  expect_same(kScriptIgnoresDisable, v1::FACT_KIND_SCRIPT_IGNORES_DISABLE);
  expect_same(kTraceDropsDisable, v1::FACT_KIND_TRACE_DROPS_DISABLE);
  expect_same(kTraceDropsRegion, v1::FACT_KIND_TRACE_DROPS_REGION);
  expect_same(kCompiled, v1::FACT_KIND_COMPILED);
  expect_same(kRecompiled, v1::FACT_KIND_RECOMPILED);
  expect_same(kCompileCastsBackward, v1::FACT_KIND_COMPILE_CASTS_BACKWARD);
  expect_same(kCompileStateUnguarded, v1::FACT_KIND_COMPILE_STATE_UNGUARDED);
  expect_same(kCompileBypassesCache, v1::FACT_KIND_COMPILE_BYPASSES_CACHE);
  expect_same(kCompileSkipsRounding, v1::FACT_KIND_COMPILE_SKIPS_ROUNDING);
  expect_same(kExportDropsRegion, v1::FACT_KIND_EXPORT_DROPS_REGION);
  expect_same(kScriptDropsDecorator, v1::FACT_KIND_SCRIPT_DROPS_DECORATOR);
  expect_same(kScriptStopsAtPython, v1::FACT_KIND_SCRIPT_STOPS_AT_PYTHON);
  expect_same(kArgumentArrived, v1::FACT_KIND_ARGUMENT_ARRIVED);
  expect_same(kScriptLeavesArgument, v1::FACT_KIND_SCRIPT_LEAVES_ARGUMENT);
  expect_same(kScriptLeavesArgument, v1::FactKind_MAX);
}

TEST(ClosedListsTest, Stalenesses) {
  using enum lanes::Staleness;
  expect_same(kNone, v1::STALENESS_NONE);
  expect_same(kSameValues, v1::STALENESS_SAME_VALUES);
  expect_same(kVersion, v1::STALENESS_VERSION);
  expect_same(kMoved, v1::STALENESS_MOVED);
  expect_same(kUnversioned, v1::STALENESS_UNVERSIONED);
  expect_same(kUnversioned, v1::Staleness_MAX);
}

}  // namespace
}  // namespace castscope

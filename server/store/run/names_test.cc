#include "server/store/run/names.h"

#include <gtest/gtest.h>

namespace castscope::store {
namespace {

// Numbers of c10::ScalarType and c10::DeviceType, from their headers.
TEST(NamesTest, DtypesAndDevicesAreThoseOfPyTorch) {
  EXPECT_EQ(dtype_name(0), "uint8");
  EXPECT_EQ(dtype_name(5), "float16");
  EXPECT_EQ(dtype_name(6), "float32");
  EXPECT_EQ(dtype_name(7), "float64");
  EXPECT_EQ(dtype_name(11), "bool");
  EXPECT_EQ(dtype_name(15), "bfloat16");
  EXPECT_EQ(dtype_name(23), "float8_e5m2");
  EXPECT_EQ(dtype_name(24), "float8_e4m3fn");
  EXPECT_EQ(dtype_name(26), "float8_e4m3fnuz");
  EXPECT_EQ(dtype_name(29), "uint64");
  EXPECT_EQ(dtype_name(44), "float8_e8m0fnu");
  EXPECT_EQ(dtype_name(200), "unknown");
  EXPECT_EQ(device_name(0), "cpu");
  EXPECT_EQ(device_name(1), "cuda");
  EXPECT_EQ(device_name(9), "xla");
  EXPECT_EQ(device_name(12), "xpu");
  EXPECT_EQ(device_name(13), "mps");
  EXPECT_EQ(device_name(14), "meta");
  EXPECT_EQ(device_name(20), "privateuseone");
  EXPECT_EQ(device_name(21), "unknown");
}

TEST(NamesTest, EveryValueOfAClosedListHasItsWord) {
  EXPECT_EQ(name(lanes::Cause::kFsdp), "fsdp");
  EXPECT_EQ(name(lanes::Cause::kCompiled), "compiled");
  EXPECT_EQ(name(lanes::Cause::kReflatten), "reflatten");
  EXPECT_EQ(name(lanes::Cause::kAnnotation), "annotation");
  EXPECT_EQ(name(lanes::Cause::kPytorch), "pytorch");
  EXPECT_EQ(cause_names().size(), count_of(lanes::Cause{}));
  EXPECT_EQ(name(lanes::Role::kGradient), "gradient");
  EXPECT_EQ(role_names().size(), count_of(lanes::Role{}));
  EXPECT_EQ(name(lanes::Phase::kOther), "other");
  EXPECT_EQ(phase_names().size(), count_of(lanes::Phase{}));
  EXPECT_EQ(name(lanes::WhyNotCached::kNotAutocast), "not_autocast");
  EXPECT_EQ(name(lanes::WhyNotCached::kScript), "script");
  EXPECT_EQ(why_not_cached_names().size(), count_of(lanes::WhyNotCached{}));
  EXPECT_EQ(name(lanes::RegionKind::kInherited), "inherited");
  EXPECT_EQ(name(lanes::RegionKind::kScript), "script");
  EXPECT_EQ(region_kind_names().size(), count_of(lanes::RegionKind{}));
  EXPECT_EQ(name(lanes::FactKind::kBackward), "backward");
  EXPECT_EQ(name(lanes::FactKind::kRegionNeverLeft), "region_never_left");
  EXPECT_EQ(name(lanes::FactKind::kClip), "clip");
  EXPECT_EQ(name(lanes::FactKind::kTraceDropsRegion), "trace_drops_region");
  EXPECT_EQ(name(lanes::FactKind::kScriptLeavesArgument), "script_leaves_argument");
  EXPECT_EQ(name(lanes::FactKind::kMetric), "metric");
  EXPECT_EQ(fact_kind_names().size(), count_of(lanes::FactKind{}));
  EXPECT_EQ(name(lanes::Staleness::kUnversioned), "unversioned");
  EXPECT_EQ(staleness_names().size(), count_of(lanes::Staleness{}));
  EXPECT_EQ(name(lanes::GpuWork::kCastByEvents), "cast_by_events");
  EXPECT_EQ(gpu_work_names().size(), count_of(lanes::GpuWork{}));
  EXPECT_EQ(name(lanes::MatmulCompute::kTf32), "tf32");
  EXPECT_EQ(name(lanes::MatmulCompute::kInt32), "int32");
  EXPECT_EQ(matmul_compute_names().size(), count_of(lanes::MatmulCompute{}));
  EXPECT_EQ(name(ProcessEnd::kVanished), "vanished");
  EXPECT_EQ(process_end_names().size(), static_cast<std::size_t>(ProcessEnd::kVanished) + 1);
  EXPECT_EQ(name(static_cast<lanes::Cause>(99)), "unknown");
}

}  // namespace
}  // namespace castscope::store

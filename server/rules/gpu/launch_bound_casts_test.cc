#include "server/rules/testing/rules_test.h"

namespace castscope::rules::launch_bound_casts {
namespace {

class LaunchBoundCastsTest : public RulesTest {
 protected:
  // Runs two steps of a hundred small layers at one line, whose inputs are cast by kernels of `ns`, each with `others`
  // kernels beside it.
  static void layers(TestRun& run, std::uint64_t ns, std::uint64_t others = 1, std::uint64_t count = 100,
                     std::int64_t step_ns = 20'000'000) {
    const auto region = run.region("train.py", 5);
    const auto input = run.input("train.py", 8, "fc");
    const auto kernel = run.kernel({.name = "copy", .site = input}), gemm = run.kernel({.name = "gemm"});
    for (int step = 0; step < 2; ++step) {
      run.enter(region).deep().timed().launched(kernel, 2 * count, ns).launched(gemm, others * count, 20'000);
      run.wait(step_ns).cast(input, kWeight + static_cast<std::uint64_t>(step)).shallow().exit().step();
    }
  }
};

TEST_F(LaunchBoundCastsTest, SmallCastsAreMostOfAStep) {
  expect_golden("launch_bound_casts_small_casts", judged([](TestRun& run) { layers(run, 1500); }));
}

TEST_F(LaunchBoundCastsTest, CastsThatTakeLongerThanTheirLaunch) {
  expect_none_of("launch-bound-casts", judged([](TestRun& run) { layers(run, 9000); }));
}

TEST_F(LaunchBoundCastsTest, MostKernelsAreOthers) {
  expect_none_of("launch-bound-casts", judged([](TestRun& run) { layers(run, 1500, 5); }));
}

TEST_F(LaunchBoundCastsTest, AFewCasts) {
  expect_none_of("launch-bound-casts", judged([](TestRun& run) { layers(run, 1500, 1, 20); }));
}

// 100 kernels of 20 µs and 200 of 1.5 µs are 2.3 ms: nearly all of a step of 2.5 ms, and little of one of 20 ms.
TEST_F(LaunchBoundCastsTest, AGpuThatIsBusyWaitsForNoLaunch) {
  expect_none_of("launch-bound-casts", judged([](TestRun& run) { layers(run, 1500, 1, 100, 2'500'000); }));
  EXPECT_FALSE(judged([](TestRun& run) { layers(run, 1500); }).empty());
}

}  // namespace
}  // namespace castscope::rules::launch_bound_casts

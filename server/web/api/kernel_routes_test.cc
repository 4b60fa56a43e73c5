// Tests what the viewer's API says about GPUs.
#include "server/web/api/routes_test.h"
#include "server/web/runs/live_run.h"

namespace castscope::web {
namespace {

class KernelRoutesTest : public RoutesTest {
 protected:
  // Records a cast's kernel, the kernel of the linear that the cast is for, and a set outside of any operator.
  static void train(store::TestRun& run) {
    const auto region = run.region("train.py", 10);
    const auto weight = run.weight("train.py", 11, "head");
    const auto use = run.use({.op = "aten::linear", .line = 12, .module = "head"});
    const auto cast = run.kernel({.name = "_ZN2at6native29vectorized_elementwise_kernelILi4EEEvi",
                                  .use = use,
                                  .site = weight,
                                  .op = "aten::linear"});
    const auto matmul = run.kernel({.name = "nvjet_tst", .use = use, .op = "aten::linear"});
    const auto set = run.kernel({.name = "Memset", .work = lanes::GpuWork::kSet});
    run.step().enter(region).cast(weight, 0x100).exit().step();
    run.lane(2).launched_with_event(cast, 300).launched_with_event(matmul, 700).launched_with_event(set, 20);
  }
  void record_training() {
    auto store = create();
    store::TestRun run(*store);
    train(run);
    run.end();
    EXPECT_TRUE(store->close().ok());
    show();
  }
  // Returns the nth event of the row of stream 7.
  Json kernel(int n) {
    const std::string track_ = "track=" + std::to_string(track(loaded(), "kernels"));
    std::int64_t at = -1;
    for (; n >= 0; --n) {
      const Json next = json("runs/run/neighbour", track_ + "&direction=next&at_ns=" + std::to_string(at))["event"];
      at = next["begin_ns"].get<std::int64_t>();
    }
    return json("runs/run/event", track_ + "&at_ns=" + std::to_string(at))["event"];
  }
};

TEST_F(KernelRoutesTest, AStreamIsARowAfterThoseOfThreads) {
  record_training();
  const Json last = loaded()["tracks"].back();
  EXPECT_EQ(last["track_kind"], "kernels");
  EXPECT_EQ(last["label"], "GPU 0 stream 7");
  EXPECT_EQ(last["gpu_index"], 0);
  EXPECT_EQ(last["stream"], 7);
  EXPECT_EQ(last["lane"], 2);
}

TEST_F(KernelRoutesTest, KernelsAreDefinedByNamePurposeAndPlace) {
  record_training();
  const Json kernels = json("runs/run/definitions")["kernels"];
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0]["label"], "at::native::vectorized_elementwise_kernel");
  EXPECT_EQ(kernels[0]["kernel_name"], "void at::native::vectorized_elementwise_kernel<4>(int)");
  EXPECT_EQ(kernels[0]["launched_by_text"], "cast linear weight, float32 to bfloat16");
  EXPECT_EQ(kernels[0]["site"], 1);
  EXPECT_EQ(kernels[0]["line"], 11);
  EXPECT_EQ(kernels[0]["module"], "head");
  EXPECT_EQ(kernels[1]["launched_by_text"], "linear");
  EXPECT_EQ(kernels[1]["site"], nullptr);
  EXPECT_EQ(kernels[1]["line"], 12);
  EXPECT_EQ(kernels[2]["gpu_work"], "set");
  EXPECT_EQ(kernels[2]["launched_by_text"], nullptr);
  EXPECT_EQ(json("runs/run/definitions", "known_kernels=2")["kernels"].size(), 1u);
}

TEST_F(KernelRoutesTest, ItsDetailIsThatOfItsLaunch) {
  record_training();
  const Json cast = kernel(0);
  EXPECT_EQ(cast["shade_kind"], "cast_kernel");
  EXPECT_EQ(cast["end_ns"].get<std::int64_t>() - cast["begin_ns"].get<std::int64_t>(), 300);
  EXPECT_EQ(cast["in_file"], true);
  EXPECT_EQ(cast["step"], 1);
  EXPECT_EQ(cast["launch"]["gpu_index"], 0);
  EXPECT_EQ(cast["launch"]["stream"], 7);
  EXPECT_EQ(cast["launch"]["grid_blocks"], 64);
  EXPECT_EQ(cast["launch"]["threads_per_block"], 256);
  EXPECT_EQ(cast["shape"], nullptr);
  EXPECT_FALSE(cast["frames"].empty());
  const Json set = kernel(2);
  EXPECT_EQ(set["shade_kind"], "gpu_copy");
  EXPECT_TRUE(set["frames"].empty());
}

TEST_F(KernelRoutesTest, WasLaunchedWithinItsCastOrItsOperator) {
  auto store = create();
  store::TestRun run(*store);
  const auto weight = run.weight("train.py", 11, "head");
  const auto use = run.use({.op = "aten::linear", .line = 12, .module = "head"});
  const auto cast = run.kernel({.name = "copy", .use = use, .site = weight, .op = "aten::linear"});
  const auto matmul = run.kernel({.name = "nvjet_tst", .use = use, .op = "aten::linear"});
  run.step().cast(weight, 0x100).called_with_event(use, 1'500);  // 2000 to 2500, within 1500 to 3000
  run.lane(2)
      .launched_with_event(cast, 300, 1'500)
      .launched_with_event(matmul, 700, 1'500)
      .launched_with_event(cast, 100, 1'000);
  run.launched_with_event(cast, 100, 0);
  run.end();
  EXPECT_TRUE(store->close().ok());
  show();
  const Json of_cast = kernel(0), of_matmul = kernel(1), of_nobody = kernel(2), of_unknown = kernel(3);
  EXPECT_EQ(of_cast["launch"]["launched_ns"], of_cast["begin_ns"].get<std::int64_t>() - 1'500);
  EXPECT_EQ(of_cast["launch"]["launched_by"]["shade_kind"], "down");
  EXPECT_EQ(of_cast["launch"]["launched_by"]["subject"], 1);
  EXPECT_EQ(of_matmul["launch"]["launched_by"]["shade_kind"], "operator");
  EXPECT_EQ(of_nobody["launch"]["launched_ns"], of_nobody["begin_ns"].get<std::int64_t>() - 1'000);
  EXPECT_EQ(of_nobody["launch"]["launched_by"], nullptr) << "of another one's time";
  EXPECT_EQ(of_unknown["launch"]["launched_ns"], nullptr);
}

TEST_F(KernelRoutesTest, AProcessTellsWhenAnotherOneReadTheRecords) {
  auto store = create();
  store::TestRun run(*store);
  train(run);
  run.attribute("gpu_seat", "1000 - torch.profiler");
  run.attribute("gpu_seat", "1000 5000 torch.profiler");
  run.attribute("gpu_seat", "9000 - another tool");
  run.end();
  EXPECT_TRUE(store->close().ok());
  show();
  const Json process = loaded()["processes"][0], untimed = process["gpu_seats"];
  const auto begin = process["begin_ns"].get<std::int64_t>();
  ASSERT_EQ(untimed.size(), 2u);
  EXPECT_EQ(untimed[0], Json({{"begin_ns", begin + 1000}, {"end_ns", begin + 5000}, {"held_by", "torch.profiler"}}));
  EXPECT_EQ(untimed[1], Json({{"begin_ns", begin + 9000}, {"end_ns", nullptr}, {"held_by", "another tool"}}));
}

TEST_F(KernelRoutesTest, ShadesOfCastKernelsHaveACause) {
  record_training();
  std::map<std::string, Json> causes;
  const Json run = loaded();
  for (const Json& shade : run["shades"]) causes[shade["shade_kind"]] = shade["cause"];
  EXPECT_EQ(causes["cast_kernel"], "autocast");
  EXPECT_EQ(causes["kernel"], nullptr);
}

TEST_F(KernelRoutesTest, AreFoundByTheirNameAndByWhatTheyServe) {
  record_training();
  loaded();
  EXPECT_EQ(json("runs/run/find", "find=NVJET")["kernel_ids"], Json({2}));
  EXPECT_EQ(json("runs/run/find", "find=train.py:11")["kernel_ids"], Json({1}));
  EXPECT_EQ(json("runs/run/find", "find=nvjet")["event_count"], 1);
}

// The sums by look, with names in place of ids: ids are given as looks come, and a file has another order.
std::map<std::string, Json> by_look(const Json& summary, const Json& shades) {
  std::map<std::string, Json> named;
  for (Json sum : summary["by_shade"]) {
    Json look = shades[sum["shade"].get<std::size_t>() - 1];
    look.erase("shade");
    sum.erase("shade");
    named[look.dump()] = sum;
  }
  return named;
}

TEST_F(KernelRoutesTest, ARunThatGoesOnShowsTheSame) {
  auto store = std::shared_ptr<store::RunStore>(create());
  const auto live =
      LiveRun::begin("run", std::make_shared<judging::RunJudge>(store, rules::Settings()), start(), false, {});
  runs_.put(live);
  store::TestRun run(*live);
  train(run);
  run.end();
  EXPECT_TRUE(store->close().ok());
  live->concluded(RunState::kFinished, nullptr);
  const Json shown = json("runs/run"), sums = json("runs/run/summary", window());
  show();
  const Json read = loaded();
  EXPECT_EQ(shown["tracks"].back()["label"], "GPU 0 stream 7");
  const Json again = json("runs/run/summary", window());
  for (const char* of : {"event_count", "by_shade_kind", "by_subject"}) EXPECT_EQ(again[of], sums[of]) << of;
  EXPECT_EQ(by_look(again, read["shades"]), by_look(sums, shown["shades"]));
  EXPECT_EQ(read["shades"].size(), shown["shades"].size());
}

}  // namespace
}  // namespace castscope::web

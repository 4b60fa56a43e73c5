// Tests what GPUs did, from the sink's side and read back.
#include "server/store/testing/run_store_test.h"

namespace castscope::store {
namespace {

using lanes::GpuWork;
using lanes::MatmulCompute;
using lanes::Role;
using testing::ElementsAre;

class GpuStoreTest : public RunStoreTest {
 protected:
  static TestUse mm() {
    return {.op = "aten::mm", .line = 12, .operands = {operand(kBFloat16), operand(kBFloat16)}, .device = 1};
  }
  std::string text(const char* sql) {
    auto database = Database::open(path(), SQLITE_OPEN_READWRITE);
    auto statement = Statement::prepare(*database, sql);
    EXPECT_TRUE(statement.ok()) << statement.status().message();
    EXPECT_TRUE(*statement->next()) << sql;
    return statement->text(0);
  }
  static void close(RunStore& store) { ASSERT_TRUE(store.close().ok()); }
};

TEST_F(GpuStoreTest, AKernelComesBackAsItWas) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t region = run.region("train.py", 5), use = run.use(mm());
  const std::uint32_t weight = run.weight("train.py", 12, "fc");
  const std::uint32_t kernel = run.kernel({.name = "_Z4gemmv",
                                           .use = use,
                                           .site = weight,
                                           .op = "aten::mm",
                                           .flags = lanes::kKernelReplayed,
                                           .origin = "0/1 forward (train.py:12)"});
  const std::uint32_t copy =
      run.kernel({.name = "Memcpy DtoD", .work = GpuWork::kCopy, .flags = lanes::kKernelUnplaced});
  run.enter(region).deep().timed().launched(kernel, 3, 5000, 64).launched(copy).shallow().exit();
  run.gauges.gpu_lost = 2;
  run.gauges.gpu_unplaced = 1;
  run.gauges.gpu_event_steps = 4;
  run.gauges.gpu_casts_untimed = 3;
  run.end();
  close(*store);
  const RunData data = read();
  ASSERT_EQ(data.kernels.size(), 2u);
  const Kernel& k = data.kernels.front();
  EXPECT_EQ(data.kernel_names[k.name], "_Z4gemmv");
  EXPECT_EQ(k.use, 1u) << "the run's number of it";
  EXPECT_EQ(k.site, 1u);
  EXPECT_EQ(k.op, "aten::mm");
  EXPECT_EQ(k.origin, "0/1 forward (train.py:12)");
  EXPECT_EQ(k.work, GpuWork::kKernel);
  EXPECT_TRUE(k.replayed());
  EXPECT_FALSE(k.unplaced());
  EXPECT_EQ(data.kernels[KernelId(2)].work, GpuWork::kCopy);
  EXPECT_TRUE(data.kernels[KernelId(2)].unplaced());
  ASSERT_EQ(data.kernel_counts.size(), 2u);
  EXPECT_EQ(data.kernel_counts[0].launches, 3u);
  EXPECT_EQ(data.kernel_counts[0].ns, 15'000u);
  EXPECT_EQ(data.kernel_counts[0].bytes, 192u);
  const Gauges& gauges = data.processes.front().gauges;
  EXPECT_EQ(gauges.gpu_steps, 1u);
  EXPECT_EQ(gauges.gpu_records, 4u);
  EXPECT_EQ(gauges.gpu_lost, 2u);
  EXPECT_EQ(gauges.gpu_unplaced, 1u);
  EXPECT_EQ(gauges.gpu_event_steps, 4u);
  EXPECT_EQ(gauges.gpu_casts_untimed, 3u);
}

TEST_F(GpuStoreTest, AMatrixProductComesBackAsItWas) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t use = run.use(mm());
  const MatmulCall call{.m = 1,
                        .n = 2,
                        .k = 3,
                        .batch = 4,
                        .lda = 5,
                        .ldb = 6,
                        .ldc = 7,
                        .a = kBFloat16,
                        .b = kFloat16,
                        .c = kFloat32,
                        .compute = MatmulCompute::kTf32,
                        .align_a = 1,
                        .align_b = 2,
                        .align_c = 3,
                        .flags = lanes::kMatmulTransposeB | lanes::kMatmulPedantic};
  run.called(use).seen(run.matmul(use, call), 9);
  run.end();
  close(*store);
  const RunData data = read();
  ASSERT_EQ(data.matmuls.size(), 1u);
  const Matmul& m = data.matmuls.front();
  EXPECT_EQ(m.use, 1u);
  EXPECT_EQ(m.op, "aten::mm");
  EXPECT_EQ(m.function, "cublasGemmEx");
  EXPECT_THAT((std::array{m.call.m, m.call.n, m.call.k, m.call.batch, m.call.lda, m.call.ldb, m.call.ldc}),
              ElementsAre(1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT((std::array{m.call.a, m.call.b, m.call.c, m.call.align_a, m.call.align_b, m.call.align_c}),
              ElementsAre(kBFloat16, kFloat16, kFloat32, 1, 2, 3));
  EXPECT_EQ(m.call.compute, MatmulCompute::kTf32);
  EXPECT_TRUE(m.call.is(lanes::kMatmulPedantic));
  EXPECT_FALSE(m.call.is(lanes::kMatmulTransposeA));
  ASSERT_EQ(data.matmul_counts.size(), 1u);
  EXPECT_EQ(data.matmul_counts[0].times, 9u);
}

TEST_F(GpuStoreTest, RanksWithTheSameCodeShareItsRows) {
  auto store = create();
  for (std::int64_t pid : {100, 101}) {
    TestRun run(*store, pid);
    if (pid == 101) run.weight("other.py", 1, "x");  // numbers differ from process to process
    const std::uint32_t use = run.use(mm());
    const MatmulCall call = TestRun::product(8, 8, 8, kBFloat16, MatmulCompute::kFp32);
    MatmulCall other = call;
    other.align_b = 1;  // all the same but for this
    const std::uint32_t kernel = run.kernel({.name = "_Z4gemmv", .use = use});
    run.lane(1).launched(kernel, 2).lane(2).launched(kernel, 3).launched(run.kernel({.name = "_Z4gemmv"}), 1);
    run.seen(run.matmul(use, call), 4).seen(run.matmul(use, other), 5);
    run.flush();  // absolute: once more changes nothing
    run.end();
  }
  close(*store);
  const RunData data = read();
  EXPECT_THAT(data.kernel_names, ElementsAre("_Z4gemmv"));
  EXPECT_EQ(data.kernels.size(), 2u);
  EXPECT_EQ(data.matmuls.size(), 2u);
  std::vector<std::uint64_t> launches, times;
  for (const KernelCount& count : data.kernel_counts) launches.push_back(count.launches);
  for (const MatmulCount& count : data.matmul_counts) times.push_back(count.times);
  EXPECT_THAT(launches, ElementsAre(5, 1, 5, 1));  // by process, then kernel
  EXPECT_THAT(times, ElementsAre(4, 5, 4, 5));
  EXPECT_EQ(query("SELECT launches FROM v_kernels WHERE kernel = 1"), 10);
}

TEST_F(GpuStoreTest, NoneOfItIsInATotalOrAStep) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t region = run.region("train.py", 5), weight = run.weight("train.py", 8, "fc");
  const std::uint32_t kernel = run.kernel({.name = "copy", .site = weight});
  for (int i = 1; i <= 10; ++i) {
    run.step().enter(region).cast(weight, kTensor, true).exit().flush();
    if (i % 2 == 0)
      run.lane(9).launched_with_event(kernel, 900).launched_with_event(kernel, 1'000'000'000).flush().lane(1);
  }
  run.end();
  close(*store);
  const RunData data = read();
  EXPECT_EQ(query("SELECT casts FROM v_totals"), 10);
  EXPECT_EQ(query("SELECT sum(casts) FROM v_sites"), 10);
  ASSERT_EQ(data.step_runs.size(), 1u);
  EXPECT_FALSE(data.step_runs[0].incomplete);
  EXPECT_EQ(data.kernel_counts.at(0).launches, 10u);
}

// A ring that a GPU filled makes no step incomplete: nothing of steps is told there.
TEST_F(GpuStoreTest, KernelsThatWereDroppedAreOfNoStep) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t region = run.region("train.py", 5), weight = run.weight("train.py", 8, "fc");
  const std::uint32_t kernel = run.kernel({.name = "copy", .site = weight});
  run.lane(9).launched_with_event(kernel).flush().lane(1);
  for (int i = 1; i <= 4; ++i) {
    run.step().enter(region).cast(weight, kTensor, true).exit().flush();
    run.lane(9).launched_with_event(kernel).drop().flush().launched_with_event(kernel).flush().lane(1);
  }
  run.end();
  close(*store);
  const RunData data = read();
  ASSERT_EQ(data.step_runs.size(), 1u);
  EXPECT_FALSE(data.step_runs[0].incomplete);
  EXPECT_EQ(data.processes.front().lanes.at(1).dropped, 4u);
}

TEST_F(GpuStoreTest, TheViewsHaveWords) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t use = run.use(mm()), weight = run.weight("train.py", 14, "fc");
  const std::uint32_t gemm = run.kernel({.name = "gemm", .use = use, .op = "aten::mm"});
  const std::uint32_t cast = run.kernel({.name = "copy", .use = use, .site = weight, .op = "aten::mm"});
  const std::uint32_t lone = run.kernel({.name = "fill", .op = "aten::zero_", .work = GpuWork::kSet});
  run.launched(gemm, 2, 4000).launched(cast, 2, 1000).launched(lone, 1, 300);
  MatmulCall call = TestRun::product(8, 4, 2, kBFloat16, MatmulCompute::kFp32);
  call.align_b = 1;
  run.seen(run.matmul(use, call), 2);
  run.end();
  close(*store);
  EXPECT_EQ(
      text("SELECT group_concat(line || ' ' || coalesce(site, '-') || ' ' || mangled_name || ' ' || gpu_ns, ', ') "
           "FROM (SELECT * FROM v_kernels WHERE line > 0)"),
      "12 - gemm 8000, 14 1 copy 2000");
  EXPECT_EQ(text("SELECT gpu_work || ' ' || operator FROM v_kernels WHERE line IS NULL"), "set aten::zero_");
  EXPECT_EQ(text("SELECT group_concat(operator || ' ' || coalesce(line, '-') || ' ' || gpu_ns || ' ' || cast_gpu_ns || "
                 "' ' || launches || ' ' || cast_launches, ', ') FROM v_gpu_operators"),
            "aten::mm 12 10000 2000 4 2, aten::zero_ - 300 0 1 0");
  EXPECT_EQ(text("SELECT line || ' ' || m || ' ' || a_dtype || ' ' || matmul_compute || ' ' || a_alignment || ' ' || "
                 "b_alignment || ' ' || calls FROM v_matmuls"),
            "12 8 bfloat16 fp32 256 2 2");
}

TEST_F(GpuStoreTest, CastsTimedByEventsAreInAViewOfTheirOwn) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t use = run.use(mm()), weight = run.weight("train.py", 14, "fc");
  run.launched(run.kernel({.name = "gemm", .use = use, .op = "aten::mm"}), 2, 4000);
  run.launched(run.kernel({.name = "", .use = use, .site = weight, .op = "aten::mm", .work = GpuWork::kCastByEvents}),
               3, 1500);
  run.end();
  close(*store);
  EXPECT_EQ(text("SELECT group_concat(line || ' ' || site || ' ' || launches || ' ' || gpu_ns_at_most) "
                 "FROM v_casts_by_events"),
            "14 1 3 4500");
  EXPECT_EQ(query("SELECT sum(gpu_ns) FROM v_kernels"), 8000);
  EXPECT_EQ(query("SELECT sum(gpu_ns) + sum(cast_gpu_ns) FROM v_gpu_operators"), 8000);
}

TEST_F(GpuStoreTest, AContinuedRunGoesOn) {
  auto store = create();
  for (const std::uint64_t times : {3, 5}) {
    TestRun run(*store);
    const std::uint32_t use = run.use(mm());
    run.launched(run.kernel({.name = "gemm", .use = use}), times);
    run.seen(run.matmul(use, TestRun::product(8, 8, 8, kFloat16, MatmulCompute::kFp32)), times);
    run.end();
    close(*store);
    if (times == 3) store = *RunStore::resume(path());
  }
  const RunData data = read();
  EXPECT_EQ(data.kernels.size(), 1u);
  EXPECT_EQ(data.kernel_names.size(), 1u);
  EXPECT_EQ(data.matmuls.size(), 1u);
  EXPECT_EQ(data.kernel_counts.at(0).launches, 5u) << "absolute";
  EXPECT_EQ(data.matmul_counts.at(0).times, 5u);
}

TEST_F(GpuStoreTest, NumbersThatWereNeverDefinedAreRefusedAndHarmNothing) {
  auto store = create();
  TestRun run(*store);
  EXPECT_FALSE(store->define(run.key(), KernelInfo{.op = "", .name = "", .origin = ""}).ok()) << "without a number";
  EXPECT_FALSE(store->define(run.key(), KernelInfo{.id = 3, .site = 77, .op = "", .name = "", .origin = ""}).ok());
  EXPECT_FALSE(store->define(run.key(), Matmul{.id = MatmulId(1u << 30), .op = "", .function = "", .call = {}}).ok());
  run.launched(run.kernel({.name = "gemm"}));
  run.end();
  close(*store);
  EXPECT_EQ(read().kernel_counts.size(), 1u);
}

TEST_F(GpuStoreTest, RowsThatDoNotFitTogetherAreDamage) {
  for (const char* damage :
       {"UPDATE kernels SET site = 9", "UPDATE kernels SET operator_use = 9", "UPDATE kernels SET kernel_name_id = 9",
        "UPDATE kernels SET id = 7", "UPDATE matmuls SET operator_use = 9", "UPDATE kernel_counts SET kernel = 0",
        "UPDATE kernel_counts SET process = 4", "UPDATE matmul_counts SET matmul = 9", "DELETE FROM kernel_names"}) {
    auto store = create({.overwrite = true});
    TestRun run(*store);
    const std::uint32_t use = run.use(mm());
    run.launched(run.kernel({.name = "gemm", .use = use}));
    run.seen(run.matmul(use, TestRun::product(8, 8, 8, kFloat16, MatmulCompute::kFp32)));
    run.end();
    close(*store);
    ASSERT_TRUE(read_run(path()).ok());
    ASSERT_TRUE(Database::open(path(), SQLITE_OPEN_READWRITE)->exec(damage).ok()) << damage;
    EXPECT_THAT(trouble_with(path()), HasSubstr("damaged")) << damage;
  }
}

}  // namespace
}  // namespace castscope::store

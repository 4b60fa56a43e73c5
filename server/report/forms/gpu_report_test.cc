// Tests what reports say about GPUs.
#include "server/report/model/gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "server/report/forms/csv.h"
#include "server/report/forms/json.h"
#include "server/report/forms/markdown.h"
#include "server/report/forms/terminal.h"
#include "server/report/html/page.h"
#include "server/report/model/costliest.h"
#include "server/report/text/kernel_names.h"
#include "server/report/timelines/chrome_trace.h"
#include "server/report/timelines/json_lines.h"
#include "server/report/timelines/perfetto.h"
#include "server/store/read/run_reader.h"
#include "server/store/testing/test_run.h"
#include "server/store/write/run_store.h"

namespace castscope::report {
namespace {

using lanes::MatmulCompute;
using store::kBFloat16;
using store::kFloat32;
using store::operand;
using store::RunStore;
using store::TestRun;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kCopyKernel =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_25bfloat16_copy_kernel_cudaESt5arrayIPcLm2EEEEviT0_T1_";

class GpuReportTest : public ::testing::Test {
 protected:
  GpuReportTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "castscope-gpu-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    store_ = *RunStore::create(path(), {.run_id = "run-1",
                                        .command = {"python", "train.py"},
                                        .cwd = "/home/user/project",
                                        .host = "host",
                                        .castscope_version = "0.1.0",
                                        .start_ns = 1'795'000'000'000'000'000});
  }
  ~GpuReportTest() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return (folder_ / "run.castscope").string(); }
  Model model() {
    EXPECT_TRUE(
        store_->finish({.end_ns = 1'795'000'061'500'000'000, .exit_status = 0, .signal = {}, .complete = true}).ok());
    EXPECT_TRUE(store_->close().ok());
    auto data = store::read_run(path());
    EXPECT_TRUE(data.ok()) << data.status().message();
    data_ = *std::move(data);
    return model_of(data_);
  }
  // Records two timed steps of a linear in bfloat16, whose weight is cast by a kernel of its own, and a fill outside.
  void train() {
    TestRun run(*store_);
    run.attribute("gpu_device", "0 NVIDIA H100 80GB HBM3, compute capability 9.0");
    run.attribute("gpu_timed_by", "CUPTI 13.0");
    run.attribute("gpu_math", "allow_tf32=0");
    run.attribute("gpu_seat", "1000 - torch.profiler");
    run.attribute("gpu_seat", "1000 5000 torch.profiler");
    run.attribute("gpu_seat", "9000 - torch.profiler");
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "fc");
    const auto use = run.use({.op = "aten::linear",
                              .line = 8,
                              .operands = {operand(kBFloat16), operand(kBFloat16, lanes::Role::kWeight)},
                              .module = "fc",
                              .device = 1});
    const auto cast = run.kernel({.name = kCopyKernel, .use = use, .site = weight, .op = "aten::linear"});
    const auto gemm = run.kernel({.name = "nvjet_tst_128x8", .use = use, .op = "aten::linear"});
    const auto fill = run.kernel({.name = "Memset", .op = "aten::zero_", .work = lanes::GpuWork::kSet});
    run.enter(region).deep().timed(2).cast(weight, 0x7f0000001000, true).called(use);
    run.launched(cast, 2, 200'000, 500).launched(gemm, 2, 700'000).launched(fill, 3, 10'000);
    run.seen(run.matmul(use, TestRun::product(128, 8, 64, kBFloat16, MatmulCompute::kFp32), "aten::linear"), 2);
    store::MatmulCall other = TestRun::product(1000, 10, 64, kFloat32, MatmulCompute::kTf32);
    other.align_c = 3;
    run.seen(run.matmul(0, other), 1);
    run.gauges.gpu_lost = 7;
    run.gauges.gpu_unplaced = 1;
    run.exit().shallow();
    run.end();
  }
  static void expect_golden(const std::string& name, const std::string& text) {
    const std::string path = std::string(CASTSCOPE_SOURCE_DIR) + "/tests/golden/reports/" + name;
    if (std::getenv("CASTSCOPE_UPDATE_GOLDEN")) std::ofstream(path) << text;
    std::ifstream file(path);
    std::stringstream golden;
    golden << file.rdbuf();
    EXPECT_EQ(text, golden.str()) << path;
  }

  std::filesystem::path folder_;
  std::unique_ptr<RunStore> store_;
  store::RunData data_;
};

TEST_F(GpuReportTest, TheFormsAreGolden) {
  train();
  const Model m = model();
  expect_golden("gpu.json", json_text(m));
  expect_golden("gpu.txt", summary(m, {.width = 100}));
}

TEST_F(GpuReportTest, WhatCastsTakeOfIt) {
  train();
  const Model m = model();
  EXPECT_EQ(m.gpu.all.ns, 1'830'000u);
  EXPECT_EQ(m.gpu.casts.ns, 400'000u);
  EXPECT_THAT(gpu_lines(m),
              ElementsAre("GPU: 1.8 ms in 2 timed steps, 22 % of it casts (top: train.py:8 linear weight 400 µs)",
                          "GPU: 7 records were lost, 1 was of no known operator",
                          "GPU: kernels were not timed while torch.profiler read them: 2 times, 4 µs and to the end"));
  const auto operators = gpu_operators(m);
  ASSERT_EQ(operators.size(), 2u);
  EXPECT_EQ(operators[0].op, "aten::linear");
  EXPECT_EQ(operators[0].work.ns, 1'800'000u);
  EXPECT_EQ(operators[0].casts.ns, 400'000u);
  EXPECT_THAT(operators[0].products, ElementsAre("bf16, fp32 accumulation"));
  EXPECT_EQ(operators[1].op, "aten::zero_");
  EXPECT_EQ(operators[1].use, 0u);
  const auto kernels = gpu_kernel_names(m);
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].name, "nvjet_tst_128x8");
  EXPECT_EQ(short_kernel_name(kernels[1].name), "at::native::vectorized_elementwise_kernel");
  EXPECT_EQ(kernels[1].casts.ns, 400'000u);
}

TEST_F(GpuReportTest, EachFormTellsOfIt) {
  train();
  const Model m = model();
  EXPECT_THAT(html_text(m), HasSubstr("bf16, fp32 accumulation"));
  EXPECT_THAT(html_text(m), HasSubstr("at::<wbr>native::<wbr>vectorized_<wbr>elementwise_<wbr>kernel"));
  EXPECT_THAT(html_text(m), HasSubstr("GPU time"));
  EXPECT_THAT(html_text(m), HasSubstr("1000 × 10 × 64"));
  EXPECT_THAT(html_text(m), HasSubstr("C by its place"));
  EXPECT_THAT(markdown_text(m), HasSubstr("22 % of it casts"));
  EXPECT_THAT(csv_text(m), HasSubstr(",500,400000,"));
  EXPECT_THAT(description(m, costliest(m).all.at(0)), HasSubstr("400 µs on the GPU in timed steps"));
}

TEST_F(GpuReportTest, TheSeatIsTakenAndGivenBack) {
  train();
  (void)model();
  const auto seats = gpu_seats(data_);
  ASSERT_EQ(seats.size(), 2u);
  EXPECT_EQ(seats[0].from_ns, 1000u);
  EXPECT_EQ(seats[0].to_ns, 5000u) << "the last one told of that begin counts";
  EXPECT_EQ(seats[0].who, "torch.profiler");
  EXPECT_EQ(seats[1].to_ns, std::nullopt);
}

TEST_F(GpuReportTest, WithoutAGpuNothingIsSaid) {
  TestRun run(*store_);
  const auto region = run.region("train.py", 5), weight = run.weight("train.py", 8, "fc");
  run.enter(region).cast(weight, 0x7f0000001000, true).exit();
  run.end();
  const Model m = model();
  EXPECT_THAT(gpu_lines(m), IsEmpty());
  EXPECT_TRUE(gpu_json(m).is_null());
  EXPECT_THAT(html_text(m), Not(HasSubstr("GPU")));
  EXPECT_FALSE(to_json(m)["sites"][0].contains("gpu_ns"));
}

TEST_F(GpuReportTest, WhyKernelsWereNotTimed) {
  TestRun run(*store_);
  run.attribute("gpu_timed_by", "none: libcupti is not loaded");
  run.end();
  EXPECT_THAT(gpu_lines(model()), ElementsAre("GPU: kernels were not timed: libcupti is not loaded"));
}

TEST_F(GpuReportTest, CastsTimedByEventsAreToldForThemselves) {
  train();
  TestRun run(*store_, 2);
  run.attribute("gpu_timed_by", "CUDA events");
  run.region("train.py", 5);
  const auto weight = run.weight("train.py", 8, "fc"), bias = run.weight("train.py", 9, "fc");
  run.launched(run.kernel({.name = "", .site = weight, .work = lanes::GpuWork::kCastByEvents}), 4, 3'000);
  run.launched(run.kernel({.name = "", .site = bias, .work = lanes::GpuWork::kCastByEvents}), 2, 50'000);
  run.gauges.gpu_event_steps = 3;
  run.gauges.gpu_casts_untimed = 1;
  run.end();
  const Model m = model();
  EXPECT_EQ(m.gpu.all.ns, 1'830'000u) << "what events timed is not part of it";
  EXPECT_EQ(m.gpu.casts.ns, 400'000u);
  EXPECT_THAT(gpu_lines(m),
              Contains("GPU: 6 launches of casts took at most 112 µs in 3 steps of which CUDA events timed the casts "
                       "alone (top: train.py:9 linear weight 100 µs), 1 more was not timed"));
  const auto json = to_json(m)["gpus"]["casts_by_events"];
  EXPECT_EQ(json["gpu_event_steps"], 3);
  EXPECT_EQ(json["cast_launches"], 6);
  EXPECT_EQ(json["gpu_ns_at_most"], 112'000);
  EXPECT_EQ(json["gpu_casts_untimed"], 1);
  EXPECT_EQ(json["sites"][0]["gpu_ns_at_most"], 100'000);
  EXPECT_EQ(json["sites"][1]["launches"], 4);
  EXPECT_THAT(html_text(m), HasSubstr("GPU time at most, by CUDA events"));
  EXPECT_THAT(markdown_text(m), HasSubstr("at most 112 µs"));
  EXPECT_THAT(csv_text(m), HasSubstr(",400000,12000,"));
}

TEST_F(GpuReportTest, EventsOfKernelsAreConverted) {
  TestRun run(*store_);
  const auto weight = run.weight("train.py", 8, "fc");
  run.lane(2).step().step().launched_with_event(run.kernel({.name = "copy", .site = weight}), 900);
  run.end();
  EXPECT_TRUE(store_->close().ok());
  std::ostringstream out;
  ASSERT_TRUE(json_lines(path(), out).ok());
  std::string last;
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);)
    if (line.find("\"kernel\"") != std::string::npos) last = line;
  const auto event = nlohmann::json::parse(last);
  EXPECT_EQ(event["event_kind"], "kernel");
  EXPECT_EQ(event["mangled_name"], "copy");
  EXPECT_EQ(event["line"], 8);
  EXPECT_EQ(event["site"], 1);
  EXPECT_EQ(event["stream"], 7);
  EXPECT_EQ(event["waited_ns"], 250);
  EXPECT_EQ(event["correlation"], 4711);
  EXPECT_EQ(event["duration_ns"], 900);
  EXPECT_EQ(event["step"], 1);
}

TEST_F(GpuReportTest, ChromesTraceHasATrackOfEachStream) {
  TestRun run(*store_);
  const auto weight = run.weight("train.py", 8, "fc");
  const auto use = run.use({.op = "aten::linear", .line = 9});
  const auto cast = run.kernel({.name = kCopyKernel, .use = use, .site = weight, .op = "aten::linear"});
  run.lane(2).step().step().launched_with_event(cast, 900).launched_with_event(run.kernel({.name = "gemm", .use = use}),
                                                                               1500);
  run.end();
  EXPECT_TRUE(store_->close().ok());
  std::ostringstream out;
  ASSERT_TRUE(chrome_trace(path(), out).ok());
  std::map<std::string, nlohmann::json> events, tracks;  // by name; names of tracks by number
  const auto trace = nlohmann::json::parse(out.str());
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name") tracks[event["tid"].dump()] = event["args"]["name"];
    events[event["name"]] = event;
  }
  const auto& copy = events["at::native::vectorized_elementwise_kernel"];
  EXPECT_EQ(copy["cat"], "castscope,gpu,cast");
  EXPECT_EQ(copy["dur"], 0.9);
  EXPECT_EQ(copy["args"]["launched_by_text"], "cast linear weight, float32 to bfloat16");
  EXPECT_EQ(copy["args"]["line"], 8);
  EXPECT_EQ(copy["args"]["step"], 1);
  EXPECT_EQ(copy["args"]["grid_blocks"], 64);
  EXPECT_THAT(copy["args"]["kernel_name"].get<std::string>(), HasSubstr("bfloat16_copy_kernel_cuda"));
  EXPECT_EQ(tracks[copy["tid"].dump()], "GPU 0 stream 7");
  EXPECT_EQ(events["gemm"]["cat"], "castscope,gpu");
  EXPECT_EQ(events["gemm"]["args"]["launched_by_text"], "linear");
  EXPECT_EQ(events["gemm"]["args"]["line"], 9);
  // It began before the other kernel was over.
  EXPECT_EQ(tracks[events["gemm"]["tid"].dump()], "GPU 0 stream 7, at once");
}

TEST_F(GpuReportTest, PerfettosTraceNamesStreamsKernelsAndWhatTheyServe) {
  TestRun run(*store_);
  const auto weight = run.weight("train.py", 8, "fc");
  run.lane(2).step().launched_with_event(run.kernel({.name = kCopyKernel, .site = weight}), 900);
  run.end();
  EXPECT_TRUE(store_->close().ok());
  std::ostringstream out;
  ASSERT_TRUE(perfetto_trace(path(), out).ok());
  for (const char* text : {"GPU 0 stream 7", "at::native::vectorized_elementwise_kernel", "gpu.cast",
                           "cast linear weight, float32 to bfloat16", "bfloat16_copy_kernel_cuda", "launched_by_text",
                           "moved_bytes", "kernel_name"})
    EXPECT_THAT(out.str(), HasSubstr(text));
}

TEST(KernelNamesTest, AreShortenedToWhatPeopleKnow) {
  EXPECT_EQ(short_kernel_name(demangled(kCopyKernel)), "at::native::vectorized_elementwise_kernel");
  EXPECT_THAT(demangled(kCopyKernel), HasSubstr("bfloat16_copy_kernel_cuda"));
  EXPECT_EQ(demangled("triton_poi_fused_0"), "triton_poi_fused_0");
  EXPECT_EQ(demangled("_Znonsense"), "_Znonsense");
  EXPECT_EQ(short_kernel_name("triton_poi_fused_0"), "triton_poi_fused_0");
  EXPECT_EQ(short_kernel_name("void at::native::(anonymous namespace)::reduce<float, (int)4>(int, float*)"),
            "at::native::reduce");
  EXPECT_EQ(short_kernel_name("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_64x64>(Params)"),
            "cutlass_80_tensorop_bf16_s16816gemm_64x64");
  EXPECT_EQ(short_kernel_name("Memcpy DtoD"), "Memcpy DtoD");
  EXPECT_EQ(short_kernel_name("void broken<a<b"), "broken");
  EXPECT_EQ(short_kernel_name("(x)"), "(x)");
}

}  // namespace
}  // namespace castscope::report

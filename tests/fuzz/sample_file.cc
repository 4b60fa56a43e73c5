#include "tests/fuzz/sample_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "server/rules/judgement.h"
#include "server/store/read/run_reader.h"
#include "server/store/testing/test_run.h"
#include "server/store/write/run_store.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/scratch.h"

namespace castscope::fuzz {
namespace {

using lanes::FactKind;
using store::kBFloat16;
using store::kFloat32;
using store::operand;

constexpr std::int64_t kStart = 1'795'000'000'000'000'000;

void train(store::TestRun& run) {
  run.attribute("rank", "0");
  run.attribute("torch_version", "2.13.0");
  const auto region = run.region("train.py", 10);
  const auto weight = run.weight("train.py", 11, "head", lanes::WhyNotCached::kNoRequiresGrad);
  const auto input = run.input("train.py", 12, "encoder.0");
  const auto pass = run.pass_through("aten::matmul");
  const auto mm = run.use({.op = "aten::mm", .line = 13, .operands = {operand(kBFloat16), operand(kFloat32)}});
  const auto exp = run.use({.op = "aten::exp", .line = 14, .operands = {operand(kBFloat16)}});
  const auto flow = run.flow(mm, exp);
  const auto kernel = run.kernel({.name = "_Z4gemmv", .use = mm});
  const auto update = run.fact(FactKind::kUpdate, 20), backward = run.fact(FactKind::kBackward, 19);
  const auto metric = run.fact(FactKind::kMetric, 21, {.text = "loss"});
  const auto product =
      run.matmul(mm, store::TestDefinitions::product(64, 64, 64, kBFloat16, lanes::MatmulCompute::kFp32));
  for (int step = 0; step < 3; ++step) {
    if (step == 1) run.deep().called_with_event(mm).called(exp).flowed(flow).timed().launched_with_event(kernel);
    if (step == 1) run.values(weight, {.most = 3}).seen(product).pass_with_event(pass).shallow();
    run.enter(region).cast(weight, 0x100).cast(weight, 0x100).cast(input, 0x200, true, 4096).hit(input, 0x200);
    run.pass(pass, 3).exit().backward(backward).update(update, 65536, 65536).metric(metric, 1.5);
    run.optimizer().step(lanes::StepReason::kOptimizer).flush();
  }
  run.lane(2).cast(input, 0x300);
  run.end();
}

void record(const std::string& path, bool finished) {
  auto store = store::RunStore::create(path, {.run_id = "r1",
                                              .command = {"python", "train.py"},
                                              .cwd = "/home/user/project",
                                              .host = "host",
                                              .castscope_version = "0.1.0",
                                              .start_ns = kStart});
  CASTSCOPE_PROMISE(store.ok(), "a fuzzer can record a run");
  store::TestRun run(**store);
  train(run);
  const auto data = (*store)->read();
  CASTSCOPE_PROMISE(data.ok(), "a fuzzer can read its run");
  bool kept = (*store)->set_findings(rules::judgement_of(*data).findings).ok();
  store::SourceLines source;
  source.add({.file = "train.py", .lines = {{10, "with autocast():"}, {11, "    y = model(x)"}}});
  kept = kept && (*store)->set_source(source).ok();
  if (finished)
    kept = kept && (*store)->finish({.end_ns = kStart + 2'000'000'000, .exit_status = 0, .complete = true}).ok();
  CASTSCOPE_PROMISE(kept && (*store)->close().ok(), "a fuzzer can close its run");
}

std::string bytes_of_run(bool finished) {
  const std::string path = scratch_path("sample.castscope");
  std::filesystem::remove(path);
  record(path, finished);
  auto database = store::Database::open(path, SQLITE_OPEN_READWRITE);
  const bool small = database.ok() && database->exec("PRAGMA journal_mode = DELETE").ok() &&
                     database->exec("PRAGMA page_size = 512").ok() && database->exec("VACUUM").ok() &&
                     database->close().ok();
  CASTSCOPE_PROMISE(small && store::read_run(path).ok(), "a fuzzer's run file is whole before it is changed");
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

const std::string& sample_file() {
  static const auto* const bytes = new std::string(bytes_of_run(true));
  return *bytes;
}

const std::string& unfinished_sample_file() {
  static const auto* const bytes = new std::string(bytes_of_run(false));
  return *bytes;
}

}  // namespace castscope::fuzz

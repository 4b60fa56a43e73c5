// Writes a run file that is the same each time, for tests that look at the viewer's page.
//
//   sample_run training FILE     two ranks that train a transformer of two blocks for twelve steps
//   sample_run one-event FILE    a single cast
//   sample_run week FILE         three bursts of casts within seven days
//   sample_run many-lanes FILE   512 threads with a few casts each
//   sample_run long FILE         more casts than a run file keeps one by one
//   sample_run many-findings FILE   a weight on each of 9,999 lines, cast again and again
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "server/rules/judgement.h"
#include "server/store/testing/test_run.h"
#include "server/store/write/run_store.h"

namespace castscope {
namespace {

using store::kBFloat16;
using store::kFloat32;
using store::operand;
using store::RunStore;
using store::TestRun;

constexpr std::int64_t kStart = 1'795'000'000'000'000'000, kSecond = 1'000'000'000;

// Makes a rank's steps. Lengths vary by a rule, so that a picture of them does not look like a comb.
class Rank {
 public:
  Rank(RunStore& store, int rank) : run_(store, 100 + rank), rank_(rank) {
    store.define(run_.key(), store::AttributeInfo{"rank", std::to_string(rank)}).IgnoreError();
    region_ = run_.region("train.py", 40);
    for (int i = 0; i < 2; ++i) {
      const std::string path = "blocks." + std::to_string(i);
      blocks_.push_back({
          .input = run_.input("model.py", 14, path + ".attend"),
          .attend = run_.weight("model.py", 14, path + ".attend"),
          .feed = run_.weight("model.py", 15, path + ".feed"),
          .norm = up_cast(path + ".norm"),
          .linear = run_.use({.op = "aten::linear",
                              .line = 14,
                              .operands = {operand(kBFloat16), operand(kBFloat16, lanes::Role::kWeight)},
                              .module = path + ".attend",
                              .file = "model.py"}),
          .norm_use = run_.use({.op = "aten::layer_norm",
                                .line = 13,
                                .operands = {operand(kFloat32)},
                                .module = path + ".norm",
                                .file = "model.py"}),
      });
    }
    teacher_ = run_.weight("model.py", 28, "teacher", lanes::WhyNotCached::kNoRequiresGrad);
    pass_ = run_.pass_through("aten::matmul");
    run_.wait(kSecond / 10 + rank * 40'000);
  }

  void step(int number) {
    run_.lane(1).step();
    const bool deep = number < 2;
    if (deep) run_.deep();
    run_.enter(region_);
    for (Block& block : blocks_) forward(block, deep);
    for (int use = 0; use < 4; ++use) run_.cast(teacher_, 900, false, 8'192, length(1'500)).wait(length(2'000));
    run_.exit();
    if (deep) run_.shallow();
    run_.wait(length(60'000));
    if (number % 4 == 3) run_.lane(2).cast(blocks_[0].input, 7, false, 65'536, length(9'000)).lane(1);
    run_.optimizer().flush();
  }
  void end() { run_.end(); }

 private:
  struct Block {
    std::uint32_t input, attend, feed, norm, linear, norm_use;
  };
  std::uint32_t up_cast(const std::string& path) {
    store::SiteInfo site;
    site.stack = run_.line("model.py", 13, true);
    site.module = run_.module(path, "LayerNorm");
    site.call_site = run_.call_site("aten::layer_norm", 0, "input");
    site.region = region_;
    site.role = lanes::Role::kActivation;
    site.cause = lanes::Cause::kAutocast;
    site.why = lanes::WhyNotCached::kNotLeaf;
    site.phase = lanes::Phase::kForward;
    site.from = kBFloat16;
    site.to = kFloat32;
    return run_.site(site);
  }
  void forward(const Block& block, bool deep) {
    run_.cast(block.norm, 1, false, 32'768, length(4'000)).wait(length(6'000));
    if (deep) run_.called_with_event(block.norm_use, 3'000);
    run_.cast(block.input, 2, false, 16'384, length(3'000)).wait(length(4'000));
    run_.cast(block.attend, 10 + block.attend, true, 24'576, length(5'000)).wait(length(6'000));
    if (deep) run_.called_with_event(block.linear, 5'000).pass_with_event(pass_);
    run_.hit(block.attend, 10 + block.attend).wait(length(3'000));
    run_.cast(block.feed, 10 + block.feed, true, 49'152, length(8'000)).wait(length(9'000));
    run_.hit(block.feed, 10 + block.feed).wait(length(12'000));
    if (!deep) run_.pass(pass_);
  }
  // Varies the length a little.
  std::uint32_t length(std::uint32_t ns) {
    random_ = random_ * 1664525 + 1013904223 + static_cast<std::uint32_t>(rank_);
    return ns / 2 + ns * (random_ >> 16) / 65536;
  }

  TestRun run_;
  const int rank_;
  std::uint32_t region_ = 0, teacher_ = 0, pass_ = 0, random_ = 1;
  std::vector<Block> blocks_;
};

void training(RunStore& store) {
  Rank first(store, 0), second(store, 1);
  for (int number = 0; number < 12; ++number) {
    first.step(number);
    second.step(number);
  }
  first.end();
  second.end();
}

void one_event(RunStore& store) {
  TestRun run(store);
  run.region("train.py", 5);
  run.cast(run.input("train.py", 6, "head"), 1).end();
}

void week(RunStore& store) {
  constexpr std::int64_t kDay = 24 * 3600 * kSecond;
  TestRun run(store);
  const std::uint32_t region = run.region("train.py", 5), site = run.input("train.py", 6, "head");
  for (int burst = 0; burst < 3; ++burst) {
    for (int i = 0; i < 100; ++i) run.step().enter(region).cast(site, 1).exit();
    run.wait(kDay * 7 / 2 - kSecond).flush();
  }
  run.end();
}

void many_lanes(RunStore& store) {
  TestRun run(store);
  const std::uint32_t region = run.region("train.py", 5), site = run.input("train.py", 6, "head");
  for (std::uint32_t lane = 1; lane <= 512; ++lane) {
    run.lane(lane).enter(region);
    for (int i = 0; i < 5; ++i) run.cast(site, 1).wait(lane * 10);
    run.exit(false);
  }
  run.end();
}

void many_findings(RunStore& store) {
  TestRun run(store);
  const std::uint32_t region = run.region("train.py", 5);
  std::vector<std::uint32_t> weights;
  for (int line = 1; line <= 9'999; ++line)
    weights.push_back(
        run.weight("model.py", line, "part" + std::to_string(line), lanes::WhyNotCached::kNoRequiresGrad));
  for (int number = 0; number < 3; ++number) {
    run.step().enter(region);
    for (std::size_t i = 0; i < weights.size(); ++i)
      for (int use = 0; use < 2; ++use)
        run.cast(weights[i], i + 1, false, 4'096, 1'000 + static_cast<std::uint32_t>(i % 97) * 10).wait(500);
    run.exit().optimizer().flush();
  }
  run.end();
}

void long_run(RunStore& store) {
  TestRun run(store);
  const std::uint32_t region = run.region("train.py", 5), site = run.input("train.py", 6, "head");
  for (int number = 0; number < 4'000; ++number) {
    run.step().enter(region);
    for (std::uint32_t i = 0; i < 100; ++i)
      run.cast(site, 1 + i * 7919 % 1000, false, 64 + i, 900 + i * 31 % 700).wait(2'000 + i);
    run.exit().flush();
  }
  run.end();
}

absl::Status write(const std::string& file, bool keep_all, const std::function<void(RunStore&)>& happen) {
  auto store = RunStore::create(file,
                                {.run_id = "sample",
                                 .command = {"python", "train.py"},
                                 .cwd = "/home/user/project",
                                 .host = "host",
                                 .castscope_version = "0",
                                 .start_ns = kStart},
                                {.keep_all = keep_all});
  if (!store.ok()) return store.status();
  happen(**store);
  store::RunEnd end;
  end.end_ns = kStart + 2 * kSecond;
  end.exit_status = 0;
  end.complete = true;
  if (absl::Status status = (*store)->finish(end); !status.ok()) return status;
  const auto data = (*store)->read();
  if (!data.ok()) return data.status();
  if (absl::Status status = (*store)->set_findings(rules::judgement_of(*data).findings); !status.ok()) return status;
  return (*store)->close();
}

}  // namespace
}  // namespace castscope

int main(int argc, char** argv) {
  const std::map<std::string, std::function<void(castscope::store::RunStore&)>> kinds = {
      {"training", castscope::training}, {"one-event", castscope::one_event},
      {"week", castscope::week},         {"many-lanes", castscope::many_lanes},
      {"long", castscope::long_run},     {"many-findings", castscope::many_findings}};
  const auto kind = argc == 3 ? kinds.find(argv[1]) : kinds.end();
  if (kind == kinds.end()) {
    std::fputs("usage: sample_run training|one-event|week|many-lanes|long|many-findings FILE\n", stderr);
    return 2;
  }
  const absl::Status status = castscope::write(argv[2], kind->first != "long", kind->second);
  if (!status.ok()) std::fprintf(stderr, "sample_run: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}

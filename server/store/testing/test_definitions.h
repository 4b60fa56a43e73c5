// For tests: what a process defines, told to a sink the way a real one tells it. test_run.h lets it do something.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/store/run/run_sink.h"

namespace castscope::store {

// c10::ScalarType
inline constexpr std::uint8_t kInt64 = 4, kFloat16 = 5, kFloat32 = 6, kFloat64 = 7, kBFloat16 = 15, kNoDtype = 0xff;

// An argument of an operator: its dtype as given, and what it is. Its position is its place in the list, unless `at`.
inline lanes::Operand operand(std::uint8_t dtype, lanes::Role role = lanes::Role::kActivation, std::uint8_t flags = 0) {
  return {kNoDtype, dtype, role, flags};
}
// Handed on in this dtype by the operator's autocast kernel.
inline lanes::Operand entering(std::uint8_t dtype, lanes::Operand operand) {
  operand.entered = dtype;
  return operand;
}
inline lanes::Operand at(std::uint8_t argument, lanes::Operand operand) {
  operand.argument = argument;
  return operand;
}

// How an operator is called, as far as a test cares; the rest is as in a forward pass in the region last defined.
struct TestUse {
  std::string op;
  std::int64_t line = 10;
  std::vector<lanes::Operand> operands = {};
  std::uint8_t computed = kNoDtype;  // of none: the dtype of the first floating operand
  std::uint8_t result = kNoDtype;    // of none: computed
  std::uint16_t flags = 0;
  lanes::Phase phase = lanes::Phase::kForward;
  std::string node = {};
  std::string module = {};  // path; "" = in no module
  std::string file = "train.py";
  bool outside = false;                 // in no region
  bool raised = false;                  // it gave nothing back
  std::uint8_t device = 0;              // c10::DeviceType
  std::uint32_t stack = 0;              // of none: that of the line
  std::vector<std::string> names = {};  // of the operands
};

class TestDefinitions {
 public:
  explicit TestDefinitions(RunSink& sink, std::int64_t pid = 100, const std::string& host = "host");
  const std::string& key() const { return key_; }
  void attribute(const std::string& name, const std::string& value);

  // The user's line, with torch's own frames inside it when the call goes through a module.
  std::uint32_t line(const std::string& file, std::int64_t number, bool through_module = false);
  std::uint32_t stack(std::vector<CodeLocation> frames) {  // innermost first
    ok(sink_.define(key_, StackInfo{.id = ++stacks_, .frames = std::move(frames), .truncated = false}));
    return stacks_;
  }
  static CodeLocation own_frame(const std::string& function, std::int64_t line, const std::string& file = "train.py") {
    return {"/home/user/project/" + file, function, line};
  }
  static CodeLocation torch_frame(const std::string& file, const std::string& function) {
    return {"/venv/lib/python3.11/site-packages/torch/" + file, function, 100};
  }
  std::uint32_t region(const std::string& file, std::int64_t number, RegionInfo more = default_region());
  static RegionInfo default_region();
  static RegionInfo raw_region();
  std::uint32_t module(const std::string& path, const std::string& type = "Linear", std::uint32_t number = 1);
  std::uint32_t call_site(const std::string& op, std::uint32_t argument, const std::string& argument_name);
  std::uint32_t site_at(std::uint32_t call_site);
  std::uint32_t site(SiteInfo info);
  // A weight of a Linear called at this line, in the region last defined.
  std::uint32_t weight(const std::string& file, std::int64_t number, const std::string& path,
                       lanes::WhyNotCached why = lanes::WhyNotCached::kNone,
                       std::uint8_t flags = lanes::kSiteParameter);
  std::uint32_t input(const std::string& file, std::int64_t number, const std::string& path);
  std::uint32_t pass_through(const std::string& op);

  // ---- what deep steps see; numbers are of the same series as those of sites
  std::uint32_t use(const TestUse& use);
  // The result of `from` is this argument of `to`.
  std::uint32_t flow(std::uint32_t from, std::uint32_t to, std::uint8_t argument = 0, std::uint8_t cast_to = kNoDtype);
  std::uint32_t fact(lanes::FactKind kind, std::int64_t number, Fact more = {}, const std::string& file = "train.py") {
    return fact_at(kind, line(file, number), more);
  }
  std::uint32_t fact_at(lanes::FactKind kind, std::uint32_t stack, Fact more = {});
  std::uint32_t stale_hit(std::uint32_t site, std::int64_t number, lanes::Staleness how);
  std::uint32_t error(std::int64_t number, const std::string& message, std::uint32_t use = 0) {
    return fact(lanes::FactKind::kError, number, {.subject = use, .text = message});
  }

  // ---- what GPUs do. A kernel by its mangled name, for a cast (`site`) or an operator use.
  struct TestKernel {
    std::string name;
    std::uint32_t use = 0, site = 0;
    std::string op = {};
    lanes::GpuWork work = lanes::GpuWork::kKernel;
    std::uint8_t flags = 0;
    std::string origin = {};
  };
  std::uint32_t kernel(const TestKernel& kernel);
  std::uint32_t matmul(std::uint32_t use, const MatmulCall& call, const std::string& op = "aten::mm");
  // Contiguous, well aligned, of one dtype.
  static MatmulCall product(std::uint32_t m, std::uint32_t n, std::uint32_t k, std::uint8_t dtype,
                            lanes::MatmulCompute compute);

 protected:
  static void ok(const absl::Status& status) { ASSERT_TRUE(status.ok()) << status.message(); }

  RunSink& sink_;
  std::string key_;
  std::uint32_t stacks_ = 0, regions_ = 0, sites_ = 0;
  std::map<std::string, std::uint32_t> modules_, call_sites_;
};

}  // namespace castscope::store

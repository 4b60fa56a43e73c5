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
  explicit TestDefinitions(RunSink& sink, std::int64_t pid = 100)
      : sink_(sink), key_("host/" + std::to_string(pid) + "/1/0") {
    const ProcessInfo info{.key = key_,
                           .host = "host",
                           .pid = pid,
                           .parent_pid = 1,
                           .start_ticks = 1,
                           .begin_realtime_ns = 1'795'000'001'000'000'000};
    ok(sink_.process(info));
  }
  const std::string& key() const { return key_; }
  void attribute(const std::string& name, const std::string& value) {
    ok(sink_.define(key_, AttributeInfo{name, value}));
  }

  // The user's line, with torch's own frames inside it when the call goes through a module.
  std::uint32_t line(const std::string& file, std::int64_t number, bool through_module = false) {
    StackInfo stack{.id = ++stacks_, .frames = {}, .truncated = false};
    if (through_module) {
      stack.frames = {{"/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", "Linear.forward", 134},
                      {"/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", "Module._call_impl", 1790}};
    }
    stack.frames.push_back({"/home/user/project/" + file, "train", number});
    stack.frames.push_back({"/home/user/project/" + file, "<module>", 99});
    ok(sink_.define(key_, stack));
    return stack.id;
  }
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
  std::uint32_t region(const std::string& file, std::int64_t number, RegionInfo more = default_region()) {
    more.id = ++regions_;
    if (more.stack == 0) more.stack = line(file, number);
    ok(sink_.define(key_, more));
    return more.id;
  }
  static RegionInfo default_region() {
    RegionInfo region;
    region.dtype = 15;
    region.enabled = region.cache_enabled = true;
    region.nesting = 1;
    region.kind = lanes::RegionKind::kContext;
    return region;
  }
  static RegionInfo raw_region() {
    RegionInfo region = default_region();
    region.nesting = 0;
    region.kind = lanes::RegionKind::kRaw;
    return region;
  }
  std::uint32_t module(const std::string& path, const std::string& type = "Linear", std::uint32_t number = 1) {
    const auto [it, is_new] =
        modules_.try_emplace(path + "/" + type + "/" + std::to_string(number), modules_.size() + 1);
    if (is_new)
      ok(sink_.define(
          key_, ModuleInfo{.id = it->second, .path = path, .type = type, .root_type = "Net", .root_number = number}));
    return it->second;
  }
  std::uint32_t call_site(const std::string& op, std::uint32_t argument, const std::string& argument_name) {
    const auto [it, is_new] = call_sites_.try_emplace(op + "/" + argument_name, call_sites_.size() + 1);
    if (is_new) {
      ok(sink_.define(key_, CallSiteInfo{.id = it->second,
                                         .op = op,
                                         .argument = argument,
                                         .argument_name = argument_name,
                                         .code_address = "libtorch_cpu.so+0x" + std::to_string(1000 + it->second)}));
    }
    return it->second;
  }
  std::uint32_t site_at(std::uint32_t call_site) {
    SiteInfo info;
    info.call_site = call_site;
    info.cause = lanes::Cause::kAutocast;
    return site(info);
  }
  std::uint32_t site(SiteInfo info) {
    info.id = ++sites_;
    ok(sink_.define(key_, info));
    return info.id;
  }
  // A weight of a Linear called at this line, in the region last defined.
  std::uint32_t weight(const std::string& file, std::int64_t number, const std::string& path,
                       lanes::WhyNotCached why = lanes::WhyNotCached::kNone,
                       std::uint8_t flags = lanes::kSiteParameter) {
    return site({.stack = line(file, number, true),
                 .module = module(path),
                 .call_site = call_site("aten::linear", 1, "weight"),
                 .region = regions_,
                 .op = "",
                 .role = lanes::Role::kWeight,
                 .cause = lanes::Cause::kAutocast,
                 .why = why,
                 .phase = lanes::Phase::kForward,
                 .from = 6,
                 .to = 15,
                 .flags = flags});
  }
  std::uint32_t input(const std::string& file, std::int64_t number, const std::string& path) {
    return site({.stack = line(file, number, true),
                 .module = module(path),
                 .call_site = call_site("aten::linear", 0, "input"),
                 .region = regions_,
                 .op = "",
                 .role = lanes::Role::kInput,
                 .cause = lanes::Cause::kAutocast,
                 .why = lanes::WhyNotCached::kNoRequiresGrad,
                 .phase = lanes::Phase::kForward,
                 .from = 6,
                 .to = 15});
  }
  std::uint32_t pass_through(const std::string& op) {
    return site({.call_site = call_site(op, 0, "self"),
                 .region = regions_,
                 .op = "",
                 .cause = lanes::Cause::kAutocast,
                 .from = 15,
                 .to = 15,
                 .flags = lanes::kSitePassThrough});
  }

  // ---- what deep steps see; numbers are of the same series as those of sites
  std::uint32_t use(const TestUse& use) {
    OperatorUseInfo info{.id = ++sites_,
                         .stack = use.stack != 0 ? use.stack : line(use.file, use.line, !use.module.empty()),
                         .module = use.module.empty() ? 0 : module(use.module),
                         .region = use.outside ? 0 : regions_,
                         .op = use.op,
                         .node = use.node,
                         .phase = use.phase,
                         .device = use.device,
                         .computed = use.computed,
                         .result = use.result,
                         .flags = use.flags,
                         .operands = use.operands,
                         .argument_names = use.names};
    for (std::size_t i = 0; i < info.operands.size(); ++i) {
      lanes::Operand& operand = info.operands[i];
      if (operand.argument == kNoDtype) operand.argument = static_cast<std::uint8_t>(i);
      const bool floats = operand.dtype == kFloat16 || operand.dtype == kFloat32 || operand.dtype == kFloat64 ||
                          operand.dtype == kBFloat16;
      if (info.computed == kNoDtype && floats) info.computed = operand.dtype;
    }
    if (info.result == kNoDtype && !use.raised) info.result = info.computed;
    ok(sink_.define(key_, info));
    return info.id;
  }
  // What `from` gave back is this argument of `to`.
  std::uint32_t flow(std::uint32_t from, std::uint32_t to, std::uint8_t argument = 0, std::uint8_t cast_to = kNoDtype) {
    ok(sink_.define(key_, Flow{.id = ++sites_, .from = from, .to = to, .argument = argument, .cast_to = cast_to}));
    return sites_;
  }
  std::uint32_t fact(lanes::FactKind kind, std::int64_t number, Fact more = {}, const std::string& file = "train.py") {
    return fact_at(kind, line(file, number), more);
  }
  std::uint32_t fact_at(lanes::FactKind kind, std::uint32_t stack, Fact more = {}) {
    more.id = ++sites_;
    more.kind = kind;
    more.stack = stack;
    ok(sink_.define(key_, more));
    return more.id;
  }
  std::uint32_t stale_hit(std::uint32_t site, std::int64_t number, lanes::Staleness how) {
    return fact(lanes::FactKind::kStaleHit, number,
                {.subject = site, .detail = static_cast<std::uint16_t>(how), .text = ""});
  }
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
  std::uint32_t kernel(const TestKernel& kernel) {
    ok(sink_.define(key_, KernelInfo{.id = ++sites_,
                                     .site = kernel.site,
                                     .use = kernel.use,
                                     .op = kernel.op,
                                     .name = kernel.name,
                                     .origin = kernel.origin,
                                     .work = kernel.work,
                                     .flags = kernel.flags}));
    return sites_;
  }
  std::uint32_t matmul(std::uint32_t use, const MatmulCall& call, const std::string& op = "aten::mm") {
    ok(sink_.define(key_, Matmul{.id = ++sites_, .use = use, .op = op, .function = "cublasGemmEx", .call = call}));
    return sites_;
  }
  // Contiguous, well aligned, of one dtype.
  static MatmulCall product(std::uint32_t m, std::uint32_t n, std::uint32_t k, std::uint8_t dtype,
                            lanes::MatmulCompute compute) {
    return {.m = m,
            .n = n,
            .k = k,
            .batch = 1,
            .lda = m,
            .ldb = k,
            .ldc = m,
            .a = dtype,
            .b = dtype,
            .c = dtype,
            .compute = compute,
            .align_a = 8,
            .align_b = 8,
            .align_c = 8};
  }

 protected:
  static void ok(const absl::Status& status) { ASSERT_TRUE(status.ok()) << status.message(); }

  RunSink& sink_;
  std::string key_;
  std::uint32_t stacks_ = 0, regions_ = 0, sites_ = 0;
  std::map<std::string, std::uint32_t> modules_, call_sites_;
};

}  // namespace castscope::store

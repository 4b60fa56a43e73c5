#include "server/store/testing/test_definitions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace castscope::store {

TestDefinitions::TestDefinitions(RunSink& sink, std::int64_t pid, const std::string& host)
    : sink_(sink), key_(host + "/" + std::to_string(pid) + "/1/0") {
  const ProcessInfo info{.key = key_,
                         .host = host,
                         .pid = pid,
                         .parent_pid = 1,
                         .start_ticks = 1,
                         .begin_realtime_ns = 1'795'000'001'000'000'000};
  ok(sink_.process(info));
}

void TestDefinitions::attribute(const std::string& name, const std::string& value) {
  ok(sink_.define(key_, AttributeInfo{name, value}));
}

std::uint32_t TestDefinitions::line(const std::string& file, std::int64_t number, bool through_module) {
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

std::uint32_t TestDefinitions::region(const std::string& file, std::int64_t number, RegionInfo more) {
  more.id = ++regions_;
  if (more.stack == 0) more.stack = line(file, number);
  ok(sink_.define(key_, more));
  return more.id;
}

RegionInfo TestDefinitions::default_region() {
  RegionInfo region;
  region.dtype = 15;
  region.enabled = region.cache_enabled = true;
  region.nesting = 1;
  region.kind = lanes::RegionKind::kContext;
  return region;
}

RegionInfo TestDefinitions::raw_region() {
  RegionInfo region = default_region();
  region.nesting = 0;
  region.kind = lanes::RegionKind::kRaw;
  return region;
}

std::uint32_t TestDefinitions::module(const std::string& path, const std::string& type, std::uint32_t number) {
  const auto [it, is_new] = modules_.try_emplace(path + "/" + type + "/" + std::to_string(number), modules_.size() + 1);
  if (is_new)
    ok(sink_.define(
        key_, ModuleInfo{.id = it->second, .path = path, .type = type, .root_type = "Net", .root_number = number}));
  return it->second;
}

std::uint32_t TestDefinitions::call_site(const std::string& op, std::uint32_t argument,
                                         const std::string& argument_name) {
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

std::uint32_t TestDefinitions::site_at(std::uint32_t call_site) {
  SiteInfo info;
  info.call_site = call_site;
  info.cause = lanes::Cause::kAutocast;
  return site(info);
}

std::uint32_t TestDefinitions::site(SiteInfo info) {
  info.id = ++sites_;
  ok(sink_.define(key_, info));
  return info.id;
}

std::uint32_t TestDefinitions::weight(const std::string& file, std::int64_t number, const std::string& path,
                                      lanes::WhyNotCached why, std::uint8_t flags) {
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

std::uint32_t TestDefinitions::input(const std::string& file, std::int64_t number, const std::string& path) {
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

std::uint32_t TestDefinitions::pass_through(const std::string& op) {
  return site({.call_site = call_site(op, 0, "self"),
               .region = regions_,
               .op = "",
               .cause = lanes::Cause::kAutocast,
               .from = 15,
               .to = 15,
               .flags = lanes::kSitePassThrough});
}

std::uint32_t TestDefinitions::use(const TestUse& use) {
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

std::uint32_t TestDefinitions::flow(std::uint32_t from, std::uint32_t to, std::uint8_t argument, std::uint8_t cast_to) {
  ok(sink_.define(key_, Flow{.id = FlowId(++sites_),
                             .from = OperatorUseId(from),
                             .to = OperatorUseId(to),
                             .argument = argument,
                             .cast_to = cast_to}));
  return sites_;
}

std::uint32_t TestDefinitions::fact_at(lanes::FactKind kind, std::uint32_t stack, Fact more) {
  more.id = FactId(++sites_);
  more.kind = kind;
  more.stack = StackId(stack);
  ok(sink_.define(key_, more));
  return more.id;
}

std::uint32_t TestDefinitions::stale_hit(std::uint32_t site, std::int64_t number, lanes::Staleness how) {
  return fact(lanes::FactKind::kStaleHit, number,
              {.subject = site, .detail = static_cast<std::uint16_t>(how), .text = ""});
}

std::uint32_t TestDefinitions::kernel(const TestKernel& kernel) {
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

std::uint32_t TestDefinitions::matmul(std::uint32_t use, const MatmulCall& call, const std::string& op) {
  ok(sink_.define(
      key_,
      Matmul{.id = MatmulId(++sites_), .use = OperatorUseId(use), .op = op, .function = "cublasGemmEx", .call = call}));
  return sites_;
}

MatmulCall TestDefinitions::product(std::uint32_t m, std::uint32_t n, std::uint32_t k, std::uint8_t dtype,
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

}  // namespace castscope::store

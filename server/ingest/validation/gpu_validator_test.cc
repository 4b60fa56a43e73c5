// Sends the data of GPUs over the wire, good and bad.
#include "agent/lanes/event_views.h"
#include "server/ingest/validation/validator_test.h"

namespace castscope::ingest {
namespace {

using lanes::EventKind;
using lanes::GpuWork;
using lanes::MatmulCompute;

lanes::KernelDefinition kernel_of(std::uint32_t site, std::uint32_t use) {
  return {.site = site, .use = use, .op = 7, .name = 2, .origin = 3, .device = 1, .work = GpuWork::kKernel, .flags = 2};
}
lanes::MatmulDefinition product_of(std::uint32_t use) {
  lanes::MatmulDefinition m{};
  m.use = use;
  m.op = 7;
  m.function = 4;
  m.m = 10, m.n = 20, m.k = 30, m.batch = 2, m.lda = 11, m.ldb = 31, m.ldc = 12;
  m.a = 15, m.b = 6, m.c = 255;
  m.compute = MatmulCompute::kInt32;
  m.align_a = 4, m.align_b = 1, m.align_c = 200;
  m.flags = lanes::kMatmulPedantic;
  return m;
}

class GpuValidatorTest : public ValidatorTest {
 protected:
  GpuValidatorTest() {
    accept(Batch()
               .begin()
               .text(1, "aten::mm")
               .text(2, "_Z4gemmv")
               .text(3, "0/0 forward (train.py:12)")
               .text(4, "cublasGemmEx")
               .define(DefinitionKind::kOperator, 7, lanes::OperatorDefinition{1}));
  }
  RecordingSink::Process& process() { return sink_.only(); }
};

TEST_F(GpuValidatorTest, AKernelIsHandedOnWithItsTexts) {
  accept(Batch().site(1).operator_use(2).kernel(3, kernel_of(1, 2)).counter(1, 3, 10, 5000));
  const store::KernelInfo& kernel = process().kernels.at(3);
  EXPECT_EQ(kernel.site, 1u);
  EXPECT_EQ(kernel.use, 2u);
  EXPECT_EQ(kernel.op, "aten::mm");
  EXPECT_EQ(kernel.name, "_Z4gemmv");
  EXPECT_EQ(kernel.origin, "0/0 forward (train.py:12)");
  EXPECT_EQ(kernel.device, 1);
  EXPECT_EQ(kernel.work, GpuWork::kKernel);
  EXPECT_EQ(kernel.flags, 2);
  const store::CounterRow& row = process().counters.at({1, 3});
  EXPECT_EQ(row.casts, 10u);
  EXPECT_EQ(row.hits, 5000u);
}

TEST_F(GpuValidatorTest, AMatrixProductIsHandedOn) {
  accept(Batch().operator_use(2).matmul(3, product_of(2)).counter(1, 3, 4));
  const store::Matmul& matmul = process().matmuls.at(3);
  EXPECT_EQ(matmul.use, 2u);
  EXPECT_EQ(matmul.op, "aten::mm");
  EXPECT_EQ(matmul.function, "cublasGemmEx");
  const store::MatmulCall& c = matmul.call;
  EXPECT_THAT((std::array{c.m, c.n, c.k, c.batch, c.lda, c.ldb, c.ldc}),
              testing::ElementsAre(10, 20, 30, 2, 11, 31, 12));
  EXPECT_THAT((std::array{c.a, c.b, c.c, c.align_a, c.align_b, c.flags}), testing::ElementsAre(15, 6, 255, 4, 1, 4));
  EXPECT_EQ(c.align_c, 8) << "more is not believed";
  EXPECT_EQ(c.compute, MatmulCompute::kInt32);
  EXPECT_EQ(casts(1, 3), 4u);
}

// A reference to a thing of another kind, or one that was never defined, counts as not known.
TEST_F(GpuValidatorTest, WhatRefersToSomethingElseIsNotKnown) {
  accept(
      Batch()
          .site(1)
          .operator_use(2)
          .kernel(3, kernel_of(2, 1))
          .kernel(4, {.site = 99, .use = 99, .op = 99, .name = 99, .origin = 99, .device = 0, .work = {}, .flags = 0})
          .matmul(5, product_of(1)));
  for (const std::uint32_t id : {3u, 4u}) {
    EXPECT_EQ(process().kernels.at(id).site, 0u);
    EXPECT_EQ(process().kernels.at(id).use, 0u);
  }
  EXPECT_EQ(process().kernels.at(4).op + process().kernels.at(4).name + process().kernels.at(4).origin, "");
  EXPECT_EQ(process().matmuls.at(5).use, 0u);
}

TEST_F(GpuValidatorTest, WhatIsToldAgainIsPassedOver) {
  const int before = sink_.definitions;
  for (int i = 0; i < 2; ++i) accept(Batch().kernel(3, kernel_of(0, 0)).matmul(4, product_of(0)));
  EXPECT_EQ(sink_.definitions - before, 2);
}

TEST_F(GpuValidatorTest, AnEventOfAGpuNamesAKernelOrNothing) {
  std::vector<lanes::Event> events(5);
  for (std::uint32_t number = 0; number < events.size(); ++number) {
    events[number].kind = EventKind::kKernel;
    events[number].site = number;
    lanes::EventWords::dims(events[number])[2] = 108;
    lanes::EventWords::tensor(events[number]) = 4711;
  }
  accept(Batch().site(1).operator_use(2).kernel(3, kernel_of(1, 2)).matmul(4, product_of(2)).events(1, 0, events));
  ASSERT_EQ(lane().events.size(), 5u);
  for (std::uint32_t number = 0; number < 5; ++number)
    EXPECT_EQ(lane().events[number].site, number == 3 ? 3u : 0u) << number;
  EXPECT_EQ(as_kernel(lane().events[3]).blocks, 108u);
  EXPECT_EQ(as_kernel(lane().events[3]).correlation, 4711u);
}

TEST_F(GpuValidatorTest, GaugesAreHandedOn) {
  Batch batch;
  v1::Gauges& gauges = *batch.batch().mutable_gauges();
  gauges.set_gpu_steps(3);
  gauges.set_gpu_records(400);
  gauges.set_gpu_lost(5);
  gauges.set_gpu_unplaced(6);
  gauges.set_gpu_event_steps(7);
  gauges.set_gpu_casts_untimed(8);
  accept(batch);
  EXPECT_EQ(process().gauges.gpu_steps, 3u);
  EXPECT_EQ(process().gauges.gpu_records, 400u);
  EXPECT_EQ(process().gauges.gpu_lost, 5u);
  EXPECT_EQ(process().gauges.gpu_unplaced, 6u);
  EXPECT_EQ(process().gauges.gpu_event_steps, 7u);
  EXPECT_EQ(process().gauges.gpu_casts_untimed, 8u);
}

TEST_F(GpuValidatorTest, ACastByCudnnsRnnHasACauseOfItsOwn) {
  lanes::SiteDefinition site{};
  site.cause = lanes::Cause::kReflatten;
  accept(Batch().site(1, site));
  EXPECT_EQ(process().sites.at(1).cause, lanes::Cause::kReflatten);
}

lanes::KernelDefinition kernel_doing(int work) {
  lanes::KernelDefinition kernel{};
  kernel.work = static_cast<GpuWork>(work);
  return kernel;
}
lanes::MatmulDefinition product_in(int compute) {
  lanes::MatmulDefinition m{};
  m.compute = static_cast<MatmulCompute>(compute);
  return m;
}

TEST_F(GpuValidatorTest, ACastTimedByEventsIsWorkOfAKindOfItsOwn) {
  accept(Batch().kernel(1, kernel_doing(4)));
  EXPECT_EQ(process().kernels.at(1).work, GpuWork::kCastByEvents);
}

struct MalformedGpu {
  const char* name;
  BatchBuilder batch;
  const char* why;
};
class MalformedGpuTest : public GpuValidatorTest, public testing::WithParamInterface<MalformedGpu> {};

TEST_P(MalformedGpuTest, IsNotTaken) {
  EXPECT_THAT(lose_part_of(GetParam().batch), HasSubstr(GetParam().why));
  EXPECT_TRUE(process().kernels.empty() && process().matmuls.empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, MalformedGpuTest,
    testing::Values(MalformedGpu{"ShortKernel", Batch().raw(DefinitionKind::kKernel, 1, "abc"),
                                 "a definition (kernel) of 3 bytes, not 24"},
                    MalformedGpu{"ShortMatmul", Batch().raw(DefinitionKind::kMatmul, 1, ""),
                                 "a definition (matrix product) of 0 bytes, not 48"},
                    MalformedGpu{"LongMatmul", Batch().raw(DefinitionKind::kMatmul, 1, std::string(56, '\0')),
                                 "of 56 bytes, not 48"},
                    MalformedGpu{"UnlistedWork", Batch().kernel(1, kernel_doing(5)), "whose work is on no list"},
                    MalformedGpu{"UnlistedCompute", Batch().matmul(1, product_in(9)), "computes in what is on no list"},
                    MalformedGpu{"NoNumber", Batch().kernel(0, kernel_doing(1)), "without a number"},
                    MalformedGpu{"ANumberGivenTwice", Batch().operator_use(1).kernel(1, kernel_doing(1)),
                                 "two different definitions with the number 1"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace castscope::ingest

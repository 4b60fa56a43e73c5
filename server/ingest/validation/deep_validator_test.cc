// Sends the data of deep steps over the wire, good and bad.
#include <bit>

#include "agent/lanes/event_views.h"
#include "server/ingest/validation/validator_test.h"

namespace castscope::ingest {
namespace {

using lanes::EventKind;
using lanes::FactKind;
using lanes::Role;

class DeepValidatorTest : public ValidatorTest {
 protected:
  DeepValidatorTest() {
    accept(Batch()
               .begin()
               .text(1, "aten::mm")
               .text(2, "MmBackward0")
               .text(3, "expected BFloat16")
               .text(4, "self,mat2")
               .stack(5, {})
               .define(DefinitionKind::kModule, 6, lanes::ModuleDefinition{})
               .define(DefinitionKind::kOperator, 7, lanes::OperatorDefinition{1})
               .define(DefinitionKind::kRegion, 8, lanes::RegionDefinition{}));
  }
  static lanes::OperatorUseDefinition mm() {
    return {.stack = 5,
            .module = 6,
            .op = 7,
            .region = 8,
            .node = 2,
            .phase = lanes::Phase::kBackward,
            .device = 1,
            .computed = 6,
            .result = 15,
            .flags = lanes::kUseEligible,
            .operands = 0,
            .arguments = 4};
  }
  static lanes::Event event(EventKind kind, std::uint32_t site) {
    lanes::Event event{};
    event.kind = kind;
    event.site = site;
    return event;
  }
  RecordingSink::Process& process() { return sink_.only(); }
};

TEST_F(DeepValidatorTest, AnOperatorUseIsHandedOnWithItsTexts) {
  accept(Batch().operator_use(
      1, mm(), {{0, 15, Role::kActivation, 0}, {1, 6, Role::kWeight, 2, 15}, {7, 6, Role::kUnknown, 0}}));
  const store::OperatorUseInfo& use = process().operator_uses.at(1);
  EXPECT_EQ(use.stack, 5u);
  EXPECT_EQ(use.module, 6u);
  EXPECT_EQ(use.region, 8u);
  EXPECT_EQ(use.op, "aten::mm");
  EXPECT_EQ(use.node, "MmBackward0");
  EXPECT_EQ(use.phase, lanes::Phase::kBackward);
  EXPECT_EQ(use.device, 1);
  EXPECT_EQ(use.computed, 6);
  EXPECT_EQ(use.result, 15);
  EXPECT_EQ(use.flags, lanes::kUseEligible);
  EXPECT_EQ(use.argument_names, (std::vector<std::string>{"self", "mat2", ""}));
  ASSERT_EQ(use.operands.size(), 3u);
  EXPECT_EQ(use.operands[0].entered, 0xff);
  EXPECT_EQ(use.operands[1].entered, 15);
  EXPECT_EQ(use.operands[1].argument, 1);
  EXPECT_EQ(use.operands[1].dtype, 6);
  EXPECT_EQ(use.operands[1].role, Role::kWeight);
  EXPECT_EQ(use.operands[1].flags, 2);
}

TEST_F(DeepValidatorTest, FlowsAndFactsAreHandedOn) {
  accept(Batch()
             .operator_use(1, mm())
             .operator_use(2, mm())
             .flow(3, {.from = 1, .to = 2, .argument = 4, .cast_to = 15, .reserved = {}})
             .fact(4, {.kind = FactKind::kError, .detail = 1, .subject = 2, .stack = 5, .text = 3}));
  const store::Flow& flow = process().flows.at(3);
  EXPECT_EQ(flow.from, 1u);
  EXPECT_EQ(flow.to, 2u);
  EXPECT_EQ(flow.argument, 4);
  EXPECT_EQ(flow.cast_to, 15);
  const store::Fact& fact = process().facts.at(4);
  EXPECT_EQ(fact.kind, FactKind::kError);
  EXPECT_EQ(fact.detail, 1);
  EXPECT_EQ(fact.subject, 2u);
  EXPECT_EQ(fact.stack, 5u);
  EXPECT_EQ(fact.text, "expected BFloat16");
}

// The kind of a fact decides what kind of thing its subject is.
TEST_F(DeepValidatorTest, AFactsSubjectIsWhatItsKindSays) {
  accept(Batch().site(1).operator_use(2, mm()));
  const struct {
    FactKind kind;
    std::uint32_t subject, known;
  } cases[] = {{FactKind::kStaleHit, 1, 1},     {FactKind::kStaleHit, 2, 0},       {FactKind::kLostGrad, 1, 1},
               {FactKind::kError, 2, 2},        {FactKind::kError, 1, 0},          {FactKind::kBackward, 8, 8},
               {FactKind::kBackward, 1, 0},     {FactKind::kOptimizerStep, 1, 0},  {FactKind::kUpdate, 2, 0},
               {FactKind::kRegionLeaked, 8, 8}, {FactKind::kRegionNeverLeft, 8, 8}};
  std::uint32_t id = 10;
  for (const auto& c : cases) {
    accept(Batch().fact(++id, {.kind = c.kind, .detail = 0, .subject = c.subject, .stack = 0, .text = 0}));
    EXPECT_EQ(process().facts.at(id).subject, c.known) << static_cast<int>(c.kind) << " of " << c.subject;
  }
}

TEST_F(DeepValidatorTest, WhatRefersToNothingIsNotKnown) {
  lanes::OperatorUseDefinition nowhere{};
  nowhere.stack = nowhere.module = nowhere.op = nowhere.region = nowhere.node = 99;
  accept(Batch()
             .operator_use(1, nowhere)
             .flow(2, {.from = 99, .to = 1, .argument = 0, .cast_to = 255, .reserved = {}})
             .fact(3, {.kind = FactKind::kBackward, .detail = 0, .subject = 99, .stack = 99, .text = 99}));
  const store::OperatorUseInfo& use = process().operator_uses.at(1);
  EXPECT_EQ(use.stack + use.module + use.region, 0u);
  EXPECT_EQ(use.op + use.node, "");
  EXPECT_EQ(process().flows.at(2).from, 0u);
  EXPECT_EQ(process().flows.at(2).to, 1u);
  const store::Fact& fact = process().facts.at(3);
  EXPECT_EQ(fact.subject + fact.stack, 0u);
  EXPECT_EQ(fact.text, "");
}

TEST_F(DeepValidatorTest, WhatIsToldAgainIsPassedOver) {
  const int before = sink_.definitions;
  for (int i = 0; i < 2; ++i)
    accept(Batch()
               .operator_use(1, mm())
               .flow(2, {.from = 1, .to = 1, .argument = 0, .cast_to = 255, .reserved = {}})
               .fact(3, {.kind = FactKind::kUpdate, .detail = 0, .subject = 0, .stack = 5, .text = 0}));
  EXPECT_EQ(sink_.definitions - before, 3);
}

TEST_F(DeepValidatorTest, EachOfThemCanBeCounted) {
  accept(Batch()
             .operator_use(1, mm())
             .flow(2, {.from = 1, .to = 1, .argument = 0, .cast_to = 255, .reserved = {}})
             .fact(3, {.kind = FactKind::kUpdate, .detail = 0, .subject = 0, .stack = 5, .text = 0})
             .counter(1, 1, 10)
             .counter(1, 2, 20)
             .counter(1, 3, 30));
  EXPECT_EQ(casts(1, 1), 10u);
  EXPECT_EQ(casts(1, 2), 20u);
  EXPECT_EQ(casts(1, 3), 30u);
  EXPECT_EQ(casts(1, 0), 0u);
}

// Sites, uses, flows and facts share their numbers: an event that names a thing of the wrong kind names nothing.
TEST_F(DeepValidatorTest, AnEventNamesWhatItsKindSays) {
  constexpr std::uint32_t kSite = 1, kUse = 2, kFlow = 3, kFact = 4;
  const struct {
    EventKind kind;
    std::vector<std::uint32_t> may;
  } cases[] = {{EventKind::kCast, {kSite}},
               {EventKind::kHit, {kSite}},
               {EventKind::kValues, {kSite, kUse}},
               {EventKind::kOptimizer, {kFact}},
               {EventKind::kScaler, {kFact}},
               {EventKind::kBackward, {kFact}},
               {EventKind::kOperator, {kUse}},
               {EventKind::kPass, {kSite}},
               {EventKind::kDeep, {}},
               {EventKind::kStep, {}}};
  std::vector<lanes::Event> events;
  for (const auto& c : cases)
    for (std::uint32_t number = 0; number <= 5; ++number) events.push_back(event(c.kind, number));
  accept(Batch()
             .site(kSite)
             .operator_use(kUse, mm())
             .flow(kFlow, {.from = kUse, .to = kUse, .argument = 0, .cast_to = 255, .reserved = {}})
             .fact(kFact, {.kind = FactKind::kUpdate, .detail = 0, .subject = 0, .stack = 5, .text = 0})
             .events(1, 0, events));
  ASSERT_EQ(lane().events.size(), events.size());
  std::size_t at = 0;
  for (const auto& c : cases)
    for (std::uint32_t number = 0; number <= 5; ++number, ++at) {
      const bool may = std::find(c.may.begin(), c.may.end(), number) != c.may.end();
      EXPECT_EQ(lane().events[at].site, may ? number : 0) << static_cast<int>(c.kind) << " of " << number;
    }
}

TEST_F(DeepValidatorTest, WhatAnEventSaysOfValuesAndScalesIsKept) {
  lanes::Event values = event(EventKind::kValues, 1);
  put(values, lanes::ValuesEvent{.most = 70'000.5, .elements = 12, .integers = 9, .beyond = 2});
  lanes::Event scale = event(EventKind::kScaler, 0);
  put(scale, lanes::ScalerEvent{65'536.0, 32'768.0});
  accept(Batch().operator_use(1, mm()).events(1, 0, {values, scale}));
  ASSERT_EQ(lane().events.size(), 2u);
  EXPECT_EQ(std::memcmp(&lane().events[0], &values, sizeof values), 0);
  EXPECT_EQ(std::memcmp(&lane().events[1], &scale, sizeof scale), 0);
}

TEST_F(DeepValidatorTest, RegionFlagsAndGaugesAreHandedOn) {
  lanes::RegionDefinition region{};
  region.flags = lanes::kRegionAskedEnabled | lanes::kRegionNoDevice;
  Batch batch = Batch().define(DefinitionKind::kRegion, 9, region);
  v1::Gauges& gauges = *batch.batch().mutable_gauges();
  gauges.set_deep_steps(3);
  gauges.set_deep_operators(400);
  gauges.set_deep_ns(5000);
  accept(batch);
  EXPECT_EQ(process().regions.at(9).flags, region.flags);
  EXPECT_EQ(process().gauges.deep_steps, 3u);
  EXPECT_EQ(process().gauges.deep_operators, 400u);
  EXPECT_EQ(process().gauges.deep_ns, 5000u);
}

Batch use_claiming(std::uint16_t operands, std::size_t there) {
  lanes::OperatorUseDefinition use{};
  use.operands = operands;
  std::string payload(reinterpret_cast<const char*>(&use), sizeof use);
  payload.resize(payload.size() + there * sizeof(lanes::Operand));
  return Batch().raw(DefinitionKind::kOperatorUse, 1, payload);
}
lanes::OperatorUseDefinition use_in_phase(std::uint8_t phase) {
  lanes::OperatorUseDefinition use{};
  use.phase = static_cast<lanes::Phase>(phase);
  return use;
}
lanes::FactDefinition fact_of(int kind, std::uint16_t detail = 0) {
  return {.kind = static_cast<FactKind>(kind), .detail = detail, .subject = 0, .stack = 0, .text = 0};
}

struct MalformedDeep {
  const char* name;
  BatchBuilder batch;
  const char* why;
};
class MalformedDeepTest : public DeepValidatorTest, public testing::WithParamInterface<MalformedDeep> {};

TEST_P(MalformedDeepTest, IsNotTaken) {
  EXPECT_THAT(lose_part_of(GetParam().batch), HasSubstr(GetParam().why));
  EXPECT_TRUE(process().operator_uses.empty() && process().flows.empty() && process().facts.empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, MalformedDeepTest,
    testing::Values(
        MalformedDeep{"ShortUse", Batch().raw(DefinitionKind::kOperatorUse, 1, "abc"),
                      "operator use definition of 3 bytes"},
        MalformedDeep{"TooManyOperands", use_claiming(9, 9), "an operator use of 9 operands"},
        MalformedDeep{"OperandsThatAreNotThere", use_claiming(3, 2), "an operator use of 3 operands in 42 bytes"},
        MalformedDeep{"OperandsUnannounced", use_claiming(0, 1), "an operator use of 0 operands in 37 bytes"},
        MalformedDeep{"UnlistedPhase", Batch().operator_use(1, use_in_phase(4)), "phase that is on no list"},
        MalformedDeep{"UnlistedRole", Batch().operator_use(1, {}, {{0, 6, static_cast<Role>(6), 0}}),
                      "role that is on no list"},
        MalformedDeep{"ShortFlow", Batch().raw(DefinitionKind::kFlow, 1, "abcd"),
                      "a definition (flow) of 4 bytes, not 12"},
        MalformedDeep{"ShortFact", Batch().raw(DefinitionKind::kFact, 1, ""), "a definition (fact) of 0 bytes, not 16"},
        MalformedDeep{"UnlistedFact", Batch().fact(1, fact_of(99)), "kind or detail that is on no list"},
        MalformedDeep{"UnlistedStaleness", Batch().fact(1, fact_of(1, 5)), "kind or detail that is on no list"},
        MalformedDeep{"UnlistedError", Batch().fact(1, fact_of(3, 2)), "kind or detail that is on no list"},
        MalformedDeep{"NoNumber", Batch().fact(0, fact_of(1)), "without a number"},
        MalformedDeep{"ANumberGivenTwice", Batch().site(1).fact(1, fact_of(1)),
                      "two different definitions with the number 1"}),
    [](const auto& info) { return info.param.name; });

// A few hundred bytes must not become gigabytes: here every fact contains the same long text.
TEST_F(DeepValidatorTest, RefusesFactsThatUnfoldWithoutBounds) {
  accept(Batch().text(9, std::string(60'000, 'x')));
  Batch batch;
  for (std::uint32_t id = 1; id <= 2000; ++id)
    batch.fact(id, {.kind = FactKind::kError, .detail = 0, .subject = 0, .stack = 0, .text = 9});
  EXPECT_THAT(reject(batch), HasSubstr("more definitions than a segment can hold"));
}

}  // namespace
}  // namespace castscope::ingest

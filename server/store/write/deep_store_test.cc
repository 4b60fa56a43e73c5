// Tests what deep steps saw, from the sink's side and read back.
#include "server/store/testing/run_store_test.h"

namespace castscope::store {
namespace {

using lanes::FactKind;
using lanes::Role;
using testing::ElementsAre;

class DeepStoreTest : public RunStoreTest {
 protected:
  static TestUse add() {
    return {.op = "aten::add.Tensor",
            .line = 12,
            .operands = {operand(kBFloat16, Role::kActivation), operand(kFloat32, Role::kWeight)},
            .computed = kFloat32};
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

TEST_F(DeepStoreTest, AnOperatorUseComesBackAsItWas) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t region = run.region("train.py", 5);
  TestUse use = add();
  use.module = "encoder.0";
  use.node = "MmBackward0";
  use.phase = lanes::Phase::kBackward;
  use.flags = lanes::kUseEligible | lanes::kUseGradMode;
  use.operands.push_back(at(5, operand(kInt64, Role::kInput, lanes::kOperandScalar)));
  use.operands[1] = entering(kBFloat16, use.operands[1]);
  use.names = {"self", "other"};
  run.enter(region).deep().called(run.use(use), 3, 100, 20).shallow().exit();
  run.end();
  close(*store);
  const RunData data = read();
  ASSERT_EQ(data.operator_uses.size(), 1u);
  const OperatorUse& u = data.operator_uses.front();
  EXPECT_EQ(u.op, "aten::add.Tensor");
  EXPECT_EQ(u.node, "MmBackward0");
  EXPECT_EQ(u.phase, lanes::Phase::kBackward);
  EXPECT_EQ(u.computed, kFloat32);
  EXPECT_EQ(u.result, kFloat32);
  EXPECT_TRUE(u.is(lanes::kUseGradMode));
  EXPECT_FALSE(u.is(lanes::kUseView));
  EXPECT_EQ(data.modules[u.module].path, "encoder.0");
  EXPECT_EQ(data.regions[u.region].dtype, kBFloat16);
  EXPECT_EQ(data.user_location(u.stack)->line, 12);
  ASSERT_EQ(u.operands.size(), 3u);
  EXPECT_EQ(u.operands[1].argument, 1);
  EXPECT_EQ(u.operands[1].role, Role::kWeight);
  EXPECT_EQ(u.operands[2].argument, 5);
  EXPECT_EQ(u.operands[2].flags, lanes::kOperandScalar);
  EXPECT_EQ(u.operands[0].entered, kNoDtype);
  EXPECT_EQ(u.operands[1].entered, kBFloat16);
  EXPECT_EQ(u.argument_names, (std::vector<std::string>{"self", "other", ""}));
  ASSERT_EQ(data.use_counts.size(), 1u);
  EXPECT_EQ(data.use_counts[0].times, 3u);
  EXPECT_EQ(data.use_counts[0].bytes, 300u);
  EXPECT_EQ(data.use_counts[0].ns, 60u);
  EXPECT_EQ(data.processes.front().gauges.deep_steps, 1u);
  EXPECT_EQ(data.processes.front().gauges.deep_operators, 3u);
  EXPECT_EQ(data.processes.front().gauges.deep_ns, 300u);
}

TEST_F(DeepStoreTest, RanksWithTheSameCodeShareItsRows) {
  auto store = create();
  for (std::int64_t pid : {100, 101}) {
    TestRun run(*store, pid);
    if (pid == 101) run.weight("other.py", 1, "x");  // numbers differ from process to process
    const std::uint32_t from = run.use(add());
    TestUse other = add();
    other.flags = lanes::kUseView;  // all the same but for this
    const std::uint32_t to = run.use(other);
    const std::uint32_t flow = run.flow(from, to, 1, kBFloat16), error = run.error(30, "expected BFloat16", to);
    run.lane(1).called(from).flowed(flow).seen(error).lane(2).called(from).called(to).flowed(flow, 4).seen(error);
    run.flush();  // absolute: once more changes nothing
    run.end();
  }
  close(*store);
  const RunData data = read();
  EXPECT_EQ(data.operator_uses.size(), 2u);
  ASSERT_EQ(data.flows.size(), 1u);
  EXPECT_EQ(data.flows.front().from, 1u);
  EXPECT_EQ(data.flows.front().to, 2u);
  EXPECT_EQ(data.flows.front().argument, 1);
  EXPECT_EQ(data.flows.front().cast_to, kBFloat16);
  ASSERT_EQ(data.facts.size(), 1u);
  EXPECT_EQ(data.facts.front().kind, FactKind::kError);
  EXPECT_EQ(data.facts.front().text, "expected BFloat16");
  EXPECT_EQ(data.facts.front().subject, 2u);
  const auto times = [](const auto& counts) {
    std::vector<std::uint64_t> all;
    for (const auto& count : counts) all.push_back(count.times);
    return all;
  };
  EXPECT_THAT(times(data.use_counts), ElementsAre(2, 1, 2, 1));  // by process, then use
  EXPECT_THAT(times(data.flow_counts), ElementsAre(5, 5));
  EXPECT_THAT(times(data.fact_counts), ElementsAre(2, 2));
  EXPECT_EQ(query("SELECT calls FROM v_operators WHERE operator_use = 1"), 4);
}

// One of its uses had no room in the process: where the value came from is not known, and nothing is made up.
TEST_F(DeepStoreTest, AFlowFromNowhereIsNone) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t use = run.use(add());
  run.called(use).flowed(run.flow(0, use), 7);
  run.end();
  close(*store);
  EXPECT_TRUE(read().flows.empty());
  EXPECT_TRUE(read().flow_counts.empty());
  EXPECT_EQ(read().use_counts.size(), 1u);
}

TEST_F(DeepStoreTest, AFactsSubjectIsWhatItsKindSays) {
  auto store = create();
  TestRun run(*store);
  run.use(add());
  const std::uint32_t region = run.region("train.py", 5);
  run.weight("train.py", 10, "a");
  const std::uint32_t weight = run.weight("train.py", 11, "fc");  // number 3 of the process, site 2 of the run
  run.seen(run.stale_hit(weight, 11, lanes::Staleness::kMoved));
  run.seen(run.fact(FactKind::kBackward, 20, {.subject = region, .text = ""}));
  run.end();
  close(*store);
  const RunData data = read();
  ASSERT_EQ(data.facts.size(), 2u);
  EXPECT_EQ(data.facts.front().subject, 2u);
  EXPECT_EQ(data.facts.front().detail, static_cast<int>(lanes::Staleness::kMoved));
  EXPECT_EQ(data.facts[FactId(2)].subject, 1u);
  EXPECT_EQ(text("SELECT fact_kind || line || ' ' || fact_detail FROM v_facts WHERE fact = 1"), "stale_hit11 moved");
}

TEST_F(DeepStoreTest, WhatDeepStepsCountIsInNoTotal) {
  auto store = create();
  TestRun run(*store);
  run.region("train.py", 5);
  const std::uint32_t weight = run.weight("train.py", 10, "fc"), use = run.use(add());
  run.step().deep().cast(weight, kTensor).called(use, 100).flowed(run.flow(use, use), 100);
  run.seen(run.error(3, "no"), 100);
  run.end();
  close(*store);
  const RunData data = read();
  ASSERT_EQ(data.site_uses.size(), 1u);
  EXPECT_EQ(data.site_uses[0].counts.casts, 1u);
  EXPECT_TRUE(data.processes.front().beyond_sites.empty());
  EXPECT_EQ(query("SELECT casts FROM v_totals"), 1);
  EXPECT_EQ(query("SELECT sum(casts) FROM v_by_cause"), 1);
  EXPECT_EQ(query("SELECT sum(casts) FROM v_sites"), 1);
  EXPECT_EQ(query("SELECT casts FROM v_regions"), 1);
  EXPECT_EQ(query("SELECT sum(casts) FROM v_step_runs"), 1);
}

TEST_F(DeepStoreTest, SamplesOfOnePlaceAreTakenTogether) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t input = run.input("train.py", 10, "fc"), use = run.use(add());
  run.values(input, {.most = 300, .sampled = 10, .zeros = 1, .integers = 10});
  run.values(input, {.most = 70'000.5, .sampled = 20, .not_finite = 2, .integers = 3, .beyond = 4}).flush();
  run.lane(2).values(input, {.most = 90, .sampled = 5, .integers = 5});
  run.values(use, {.most = 0.25, .sampled = 256});
  run.values(0, {.most = 1e30});  // of what had no room in the process
  run.end();
  close(*store);
  const RunData data = read();
  ASSERT_EQ(data.value_ranges.size(), 2u);
  const ValueRange& of_use = data.value_ranges[0];
  EXPECT_EQ(of_use.site, 0u);
  EXPECT_EQ(of_use.use, 1u);
  EXPECT_EQ(of_use.most, 0.25);
  const ValueRange& range = data.value_ranges[1];
  EXPECT_EQ(range.site, 1u);
  EXPECT_EQ(range.tensors, 3u);
  EXPECT_EQ(range.elements, 35u);
  EXPECT_EQ(range.not_finite, 2u);
  EXPECT_EQ(range.zeros, 1u);
  EXPECT_EQ(range.integers, 18u);
  EXPECT_EQ(range.beyond, 4u);
  EXPECT_EQ(range.integer_tensors, 2u);
  EXPECT_EQ(range.not_finite_tensors, 1u);
  EXPECT_EQ(range.most, 70'000.5);
  EXPECT_EQ(range.most_integer, 300);
  EXPECT_TRUE(range.integers_differ);
  EXPECT_EQ(of_use.first_not_finite, 0u);
  EXPECT_EQ(range.first_not_finite, 2000u) << "when the second sample was taken";
  EXPECT_EQ(text("SELECT line || ' ' || argument || ' ' || sampled_dtype || ' ' || to_dtype FROM v_value_ranges "
                 "WHERE site = 1"),
            "10 input float32 bfloat16");
}

TEST_F(DeepStoreTest, OneNumberInAllTensors) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t same = run.input("train.py", 10, "fc"), other = run.input("train.py", 11, "fc");
  for (const double most : {999, 0, 999}) run.values(same, {.most = most, .integers = 256, .even = true});
  for (const double most : {999, 998}) run.values(other, {.most = most, .integers = 256, .even = true});
  run.end();
  close(*store);
  const RunData data = read();
  EXPECT_FALSE(data.value_ranges.at(0).integers_differ);
  EXPECT_TRUE(data.value_ranges.at(1).integers_differ);
}

TEST_F(DeepStoreTest, ASampleThatCannotBeIsNotBelieved) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t use = run.use(add());
  const double infinity = std::numeric_limits<double>::infinity();
  run.values(use, {.most = infinity, .sampled = 4, .not_finite = 4'000'000, .integers = 9, .beyond = 8});
  run.values(use, {.most = -3, .sampled = 4}).values(use, {.most = 5, .sampled = 0});
  run.end();
  close(*store);
  const ValueRange range = read().value_ranges.at(0);
  EXPECT_EQ(range.tensors, 2u);
  EXPECT_EQ(range.elements, 8u);
  EXPECT_EQ(range.not_finite, 4u);
  EXPECT_EQ(range.integers, 4u);
  EXPECT_EQ(range.beyond, 4u);
  EXPECT_EQ(range.most, 0);
}

TEST_F(DeepStoreTest, HowAProcessScaledComesBack) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t backward = run.fact(FactKind::kBackward, 10), step = run.fact(FactKind::kOptimizerStep, 11);
  const std::uint32_t fine = run.fact(FactKind::kUnscale, 12), update = run.fact(FactKind::kUpdate, 13);
  const std::uint32_t inf = run.fact(FactKind::kUnscale, 12, {.detail = 1, .text = ""});
  const std::uint32_t good_step = run.fact(FactKind::kOptimizerStep, 12, {.detail = 1, .text = "Adam"});
  run.backward(backward).unscale(inf).update(update, 65536, 32768);
  run.backward(backward).unscale(fine).optimizer(good_step).optimizer(step).update(update, 32768, 32768).flush();
  run.backward(backward).update(update, 32768, 16384).backward(backward);
  run.end();
  close(*store);
  const RunData data = read();
  ASSERT_EQ(data.scaler_uses.size(), 1u);
  const ScalerUse& use = data.scaler_uses[0];
  EXPECT_EQ(use.process, 1u);
  EXPECT_EQ(use.updates, 3u);
  EXPECT_EQ(use.unscales, 2u);
  EXPECT_EQ(use.not_finite, 1u);
  EXPECT_EQ(use.longest_skips, 1u);
  EXPECT_EQ(use.first_scale, 65536);
  EXPECT_EQ(use.last_scale, 16384);
  EXPECT_EQ(use.least_scale, 16384);
  EXPECT_EQ(data.user_location(data.facts[use.last_update].stack)->line, 13);
  EXPECT_EQ(data.user_location(data.facts[use.step_past_scaler].stack)->line, 11);
  EXPECT_EQ(data.user_location(data.facts[use.update_between_backwards].stack)->line, 13);
  EXPECT_THAT(text("SELECT step_past_scaler_at FROM v_scaler_use"), HasSubstr("train.py:11"));
}

// The step that would have taken the gradients is among the events that a full ring dropped.
TEST_F(DeepStoreTest, NothingIsMadeOfWhatDroppedEventsLeave) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t backward = run.fact(FactKind::kBackward, 10), update = run.fact(FactKind::kUpdate, 13);
  const std::uint32_t step = run.fact(FactKind::kOptimizerStep, 11, {.detail = 1, .text = ""});
  run.backward(backward).flush();
  run.optimizer(step).drop();
  run.update(update, 1, 1).backward(backward);
  run.end();
  close(*store);
  EXPECT_EQ(read().scaler_uses.at(0).updates, 1u);
  EXPECT_EQ(read().scaler_uses.at(0).update_between_backwards, 0u);
}

TEST_F(DeepStoreTest, TheViewsHaveWords) {
  auto store = create();
  TestRun run(*store);
  TestUse use = add();
  use.operands.push_back(operand(kFloat64, Role::kUnknown, lanes::kOperandNumber));
  use.operands.push_back(operand(200, Role::kUnknown));
  const std::uint32_t from = run.use(use), to = run.use({.op = "aten::mm", .line = 13, .node = "MmBackward0"});
  run.called(from, 2, 8, 1'500'000).called(to).flowed(run.flow(from, to, 0, kBFloat16), 3);
  run.end();
  close(*store);
  EXPECT_EQ(
      text("SELECT operator || '|' || phase || '|' || argument_dtypes || '|' || computed_in || '|' || "
           "result_dtype || '|' || line || '|' || calls || '|' || operator_ns FROM v_operators"),
      "aten::add.Tensor|forward|bfloat16 activation, float32 weight, number, unknown unknown|float32|float32|12|2|"
      "3000000");
  EXPECT_EQ(text("SELECT coalesce(computed_in, '-') || node || coalesce(argument_dtypes, '-') FROM v_operators "
                 "WHERE line = 13"),
            "-MmBackward0-");
  EXPECT_EQ(text("SELECT from_operator || '|' || result_dtype || '|' || to_operator || '|' || to_dtype || '|' || times "
                 "FROM v_flows"),
            "aten::add.Tensor|float32|aten::mm|bfloat16|3");
}

// A killed collector, and one that goes on with its file: all is told again, counted on where events are concerned.
TEST_F(DeepStoreTest, AContinuedRunGoesOn) {
  const auto act = [](TestRun& run, std::uint64_t times) {
    const std::uint32_t region = run.region("train.py", 5);
    const std::uint32_t use = run.use(add()), flow = run.flow(use, use);
    const std::uint32_t update = run.fact(FactKind::kUpdate, 13);
    run.called(use, times).flowed(flow, times);
    run.update(update, 1024.0 * static_cast<double>(times), 512)
        .values(use, {.most = 10.0 * static_cast<double>(times), .sampled = 4});
    run.enter(region).optimizer().exit();
    run.end();
  };
  auto store = create();
  {
    TestRun run(*store);
    act(run, 3);
  }
  close(*store);
  store = *RunStore::resume(path());
  {
    TestRun run(*store);
    act(run, 5);
  }
  close(*store);
  const RunData data = read();
  EXPECT_EQ(data.operator_uses.size(), 1u);
  EXPECT_EQ(data.flows.size(), 1u);
  EXPECT_EQ(data.facts.size(), 1u);
  EXPECT_EQ(data.use_counts.at(0).times, 5u) << "absolute";
  EXPECT_EQ(data.flow_counts.at(0).times, 5u);
  EXPECT_EQ(data.fact_counts.at(0).times, 1u);
  ASSERT_EQ(data.value_ranges.size(), 1u);
  EXPECT_EQ(data.value_ranges[0].tensors, 2u) << "added up: the events of each life are others";
  EXPECT_EQ(data.value_ranges[0].most, 50);
  EXPECT_EQ(data.scaler_uses.at(0).updates, 2u);
  EXPECT_EQ(data.scaler_uses.at(0).first_scale, 3072);
  EXPECT_EQ(data.region_uses.at(0).most_optimizer_steps, 1u);
}

TEST_F(DeepStoreTest, NumbersThatWereNeverDefinedAreRefusedAndHarmNothing) {
  auto store = create();
  TestRun run(*store);
  OperatorUseInfo use;
  EXPECT_FALSE(store->define(run.key(), use).ok()) << "without a number";
  use.id = 9;
  use.stack = 77;
  EXPECT_FALSE(store->define(run.key(), use).ok());
  EXPECT_FALSE(store->define(run.key(), Fact{.id = FactId(5), .stack = StackId(77), .text = ""}).ok());
  EXPECT_FALSE(store->define(run.key(), Flow{.id = FlowId(1u << 30)}).ok());
  const CounterRow unknown{.lane = 1, .site = 9};
  EXPECT_FALSE(store->counters(run.key(), std::span(&unknown, 1)).ok());
  run.called(run.use(add()));
  run.end();
  close(*store);
  EXPECT_EQ(read().use_counts.size(), 1u);
}

TEST_F(DeepStoreTest, RowsThatDoNotFitTogetherAreDamage) {
  for (const char* damage :
       {"UPDATE operator_uses SET stack = 99", "UPDATE operator_uses SET id = 77",
        "UPDATE operands SET operator_use = 9", "UPDATE flows SET to_operator_use = 0", "UPDATE facts SET subject = 9",
        "UPDATE operator_use_counts SET operator_use = 0", "UPDATE flow_counts SET process = 4",
        "UPDATE fact_counts SET fact = 3", "UPDATE value_ranges SET site = 1", "UPDATE scaler_use SET last_update = 9",
        "DELETE FROM operator_uses"}) {
    auto store = create({.overwrite = true});
    TestRun run(*store);
    run.weight("train.py", 10, "fc");
    const std::uint32_t use = run.use(add()), error = run.error(3, "no", use);
    run.called(use).flowed(run.flow(use, use)).seen(error).values(use, {}).update(run.fact(FactKind::kUpdate, 9), 2, 1);
    run.end();
    close(*store);
    ASSERT_TRUE(read_run(path()).ok());
    ASSERT_TRUE(Database::open(path(), SQLITE_OPEN_READWRITE)->exec(damage).ok()) << damage;
    EXPECT_THAT(trouble_with(path()), HasSubstr("damaged")) << damage;
  }
}

// Operators and what passes through are told in deep steps alone, and not always: a step is the same with them and
// without, however late it is when they end.
TEST_F(DeepStoreTest, WhatOnlyServesThePictureMakesNoStepDiffer) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t region = run.region("train.py", 5), weight = run.weight("train.py", 8, "fc");
  const std::uint32_t mm = run.use({.op = "aten::mm", .line = 8});
  for (int i = 1; i <= 20; ++i) {
    run.step().enter(region).cast(weight, kTensor, true);
    if (i % 2 == 0) run.pass_with_event(weight).called_with_event(mm, 900).called_with_event(mm, 1'000'000'000);
    run.exit().flush();
    if (i % 2 == 0) run.lane(2).called_with_event(mm).flush().lane(1);
  }
  run.end();
  ASSERT_TRUE(store->close().ok());
  const RunData data = read();
  ASSERT_EQ(data.step_runs.size(), 1u);
  EXPECT_FALSE(data.step_runs[0].incomplete);
  EXPECT_EQ(data.step_runs[0].last - data.step_runs[0].first + 1, 20u);
  EXPECT_EQ(data.step_runs[0].casts, 20u);
  EXPECT_EQ(data.use_counts.at(0).times, 30u);
}

}  // namespace
}  // namespace castscope::store

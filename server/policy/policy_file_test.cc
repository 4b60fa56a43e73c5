#include "server/policy/policy_file.h"

#include <gmock/gmock.h>

namespace castscope::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<PolicyFile> parse(const std::string& text) {
  return parse_policy(text, "p.json", Operators::of_pytorch());
}

// Returns the complaint about a policy that is not understood.
std::string complaint(const std::string& text) {
  const auto parsed = parse(text);
  EXPECT_FALSE(parsed.ok()) << text;
  return parsed.ok() ? "" : std::string(parsed.status().message());
}

TEST(PolicyFileTest, EverythingThatAPolicyMaySay) {
  const auto parsed = parse(R"({
    // comments are allowed
    "$schema": "policy.schema.json", "description": "mine", "extends": ["torch-cpu", "more.json"],
    "device": "cpu", "dtype": "float16", "default_dtype": "bfloat16",
    "operators": {"fp32": ["softmax", "sum.dim_IntList"], "promote": ["add"], "banned": {"bmm": "use matmul"}},
    "never_cast": {"torchvision::roi_align": ["rois"]},
    "modules": {"head\\..*": "fp32", "a": "apex-o1", "torch.nn.LayerNorm": "bfloat16"},
    "functions": {"models.attention:attend": "half"},
    "cache": {"enabled": true, "max_bytes": "2GiB", "keep": "until_written", "frozen": true, "views": false,
              "nonleaf": false}
  })");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const Policy& policy = parsed->policy;
  EXPECT_EQ(parsed->extends[1].name, "more.json");
  EXPECT_EQ(parsed->extends[1].place, "p.json:3:86");
  EXPECT_EQ(policy.device, "cpu");
  EXPECT_EQ(policy.dtype, Dtype::kFloat16);
  EXPECT_EQ(policy.default_dtype, Dtype::kBFloat16);
  EXPECT_EQ(policy.operators.at({"aten::sum", "dim_IntList"}).policy, CastPolicy::kFp32);
  EXPECT_EQ(policy.operators.at({"aten::bmm", ""}).message, "use matmul");
  EXPECT_EQ(policy.operators.at({"aten::softmax", ""}).place, "p.json:5:28");
  EXPECT_THAT(policy.never_cast.at({"torchvision::roi_align", ""}).arguments, ElementsAre("rois"));
  ASSERT_EQ(policy.modules.size(), 3u);
  EXPECT_EQ(policy.modules[0].pattern, "head\\..*");  // as written, not sorted
  EXPECT_EQ(shown(policy.modules[1].precision), "apex-o1");
  EXPECT_EQ(policy.modules[2].precision.dtype, Dtype::kBFloat16);
  EXPECT_EQ(policy.functions[0].cast, FunctionCast::kHalf);
  EXPECT_EQ(policy.cache.max_bytes, 2ull << 30);
  EXPECT_EQ(policy.cache.keep, Keep::kUntilWritten);
}

TEST(PolicyFileTest, AComplaintNamesItsPlaceAndTheNearestName) {
  EXPECT_EQ(complaint("{\"device\": \"cpu\",\n \"operatrs\": {}}"),
            "p.json:2:2: there is no \"operatrs\" in a policy; did you mean \"operators\"? (it may have $schema, "
            "description, extends, device, dtype, default_dtype, operators, never_cast, modules, functions, cache)");
  EXPECT_THAT(complaint(R"({"device": "cpu", "operators": {"fp23": []}})"),
              HasSubstr("p.json:1:33: \"fp23\" is not a cast policy; did you mean \"fp32\"?"));
  EXPECT_THAT(complaint(R"({"device": "cpu", "operators": {"fp32": ["sofmax"]}})"),
              HasSubstr("p.json:1:42: \"sofmax\" is not an operator of PyTorch 2.13.0; did you mean \"softmax\"?"));
  EXPECT_THAT(complaint(R"({"device": "gpu"})"),
              HasSubstr("p.json:1:2: \"gpu\" is not a device that policies are for"));
  EXPECT_THAT(complaint(R"({"device": "cpu", "dtype": "bfloat"})"), HasSubstr("did you mean \"bfloat16\"?"));
  EXPECT_THAT(complaint(R"({"device": "cpu", "default_dtype": "float32"})"), HasSubstr("\"float32\" is none of"));
  EXPECT_THAT(complaint(R"({"device": "cpu", "default_dtype": "ambient"})"),
              HasSubstr("p.json:1:19: \"ambient\" is not a dtype for regions that name none"));
  EXPECT_THAT(complaint(R"({"device": "cpu", "cache": {"keeep": "step"}})"), HasSubstr("did you mean \"keep\"?"));
}

TEST(PolicyFileTest, TwoRulesThatContradictEachOtherAreBothNamed) {
  EXPECT_EQ(complaint("{\"device\": \"cpu\", \"operators\": {\n\"fp32\": [\"cat\"],\n\"promote\": [\"aten::cat\"]}}"),
            "p.json:3:13: \"aten::cat\" is promote here and fp32 at p.json:2:10: an operator has one cast policy");
  EXPECT_THAT(complaint(R"({"device": "cpu", "operators": {"fp32": ["cat", "aten::cat"]}})"), HasSubstr("twice"));
  EXPECT_THAT(complaint(R"({"device": "cpu", "device": "cuda"})"), HasSubstr("for the second time"));
}

TEST(PolicyFileTest, WrongTypesSayWhatIsWanted) {
  for (const auto& [text, wanted] : std::vector<std::pair<const char*, const char*>>{
           {"[]", "a policy must be one object"},
           {"{", "this is not JSON"},
           {"{}", "a policy that extends no other must name its device"},
           {R"({"device": 7})", "this must be a string in quotation marks"},
           {R"({"extends": 7})", "a policy's name or file"},
           {R"({"extends": [7]})", "in quotation marks"},
           {R"({"device": "cpu", "operators": []})", "an object of cast policies"},
           {R"({"device": "cpu", "operators": {"fp32": "cat"}})", "a list of operators"},
           {R"({"device": "cpu", "operators": {"fp32": [7]}})", "an operator's name must be a string"},
           {R"({"device": "cpu", "operators": {"fp32": {"cat": "no"}}})", "only \"banned\" is an object"},
           {R"({"device": "cpu", "operators": {"banned": {"cat": ""}}})", "the error's message"},
           {R"({"device": "cpu", "operators": {"fp32": ["a::"]}})", "is not an operator's name"},
           {R"({"device": "cpu", "never_cast": {"bmm": []}})", "a list of arguments"},
           {R"({"device": "cpu", "never_cast": {"models.pool:roi_pool": ["rois"]}})", "is a Python function"},
           {R"({"device": "cpu", "never_cast": {"bmm": ["mat3"]}})", "did you mean \"mat2\"?"},
           {R"({"device": "cpu", "never_cast": {"bmm": ["mat2"], "aten::bmm": ["self"]}})", "stands here twice"},
           {R"({"device": "cpu", "operators": {"fp32": ["sum."]}})", "is not an operator's name"},
           {R"({"device": "cpu", "operators": {"fp32": ["a::b::c"]}})", "is not an operator's name"},
           {R"({"device": "cpu", "operators": {"fp32": ["mine::foo bar"]}})", "is not an operator's name"},
           {R"({"device": "cpu", "modules": {"(": "fp32"}})",
            R"(p.json:1:31: "(" is not a pattern of modules: at character 1: this ( is never closed)"},
           {R"({"device": "cpu", "modules": {"a\\b": "fp32"}})", "\\b is not supported in module patterns"},
           {R"({"device": "cpu", "modules": {"a": 1}})", "fp32, bfloat16, float16, passthrough"},
           {R"({"device": "cpu", "functions": {"no_module": "half"}})", "package.module:function"},
           {R"({"device": "cpu", "functions": {"a:b": "double"}})", "none of half, float, promote"},
           {R"({"device": "cpu", "cache": {"max_bytes": "lots"}})", "this must be a size"},
           {R"({"device": "cpu", "cache": {"frozen": 1}})", "true or false"}})
    EXPECT_THAT(complaint(text), HasSubstr(wanted)) << text;
}

}  // namespace
}  // namespace castscope::policy

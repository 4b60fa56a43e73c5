#include "server/config/nearest.h"

#include <array>

#include <gmock/gmock.h>

namespace castscope::config {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"linear", "bilinear", "layer_norm"};

TEST(NearestTest, AFewLettersAway) {
  EXPECT_EQ(nearest("lineer", kNames), "linear");
  EXPECT_EQ(nearest("layernorm", kNames), "layer_norm");
  EXPECT_EQ(nearest("entry", std::array<std::string_view, 1>{"entries"}), "entries");
}

TEST(NearestTest, AGoodPartOfAName) {
  EXPECT_EQ(nearest("_norm", kNames), "layer_norm");
  EXPECT_EQ(nearest("torch", std::array<std::string_view, 1>{"_test_functorch_fallback"}), std::nullopt);
}

TEST(NearestTest, OfTwoTheOneThatBeginsAlike) {
  EXPECT_EQ(nearest("of", std::array<std::string_view, 2>{"on", "off"}), "off");
}

TEST(NearestTest, CaseIsNoDifference) {
  EXPECT_EQ(nearest("JSON", std::array<std::string_view, 2>{"jsonl", "json"}), "json");
  EXPECT_EQ(nearest("lstn", std::array<std::string_view, 1>{"LSTM"}), "LSTM");
}

TEST(NearestTest, ASwapIsOneMistake) {
  constexpr std::array<std::string_view, 2> kTwo = {"inner", "linear"};
  EXPECT_EQ(nearest("linaer", kTwo), "linear");
}

TEST(NearestTest, NothingIsNear) {
  EXPECT_EQ(nearest("softmax", kNames), std::nullopt);
  EXPECT_EQ(nearest("roi_align", std::array<std::string_view, 1>{"copysign"}), std::nullopt)
      << "more than a third of it";
  EXPECT_EQ(nearest("nosuch", std::array<std::string_view, 1>{"cosh"}), std::nullopt);
  EXPECT_EQ(nearest("x", std::array<std::string_view, 1>{"t"}), std::nullopt);
  EXPECT_EQ(nearest("", kNames), std::nullopt);
  EXPECT_EQ(meant("softmax", kNames), "");
}

TEST(NearestTest, AsTheEndOfAComplaint) { EXPECT_EQ(meant("linera", kNames), "; did you mean \"linear\"?"); }

}  // namespace
}  // namespace castscope::config

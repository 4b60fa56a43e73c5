#include "server/store/run/sentence_room.h"

#include "gtest/gtest.h"

namespace castscope::store {
namespace {

class SentenceRoomTest : public testing::Test {
 protected:
  // "" = nothing is to be written.
  std::string written(const std::string& whose, const std::string& text) {
    const auto sentence = room_.take(whose, text);
    return sentence ? sentence->whose + sentence->text : "";
  }
  SentenceRoom room_{"there was more"};
};

TEST_F(SentenceRoomTest, EachSentenceIsWrittenOnce) {
  EXPECT_EQ(written("process 7 ", "sent junk"), "process 7 sent junk");
  EXPECT_EQ(written("process 8 ", "sent junk"), "process 8 sent junk");
  EXPECT_EQ(written("process 7 ", "sent junk"), "");
}

TEST_F(SentenceRoomTest, ManySentencesFillIt) {
  for (std::size_t i = 0; i < kMostSentences; ++i) ASSERT_NE(written("", std::to_string(i)), "there was more") << i;
  EXPECT_EQ(written("process 7 ", "one too many"), "there was more");
  EXPECT_EQ(written("", "two too many"), "");
}

TEST_F(SentenceRoomTest, SoDoLongOnes) {
  const std::string text(kLongestSentence, 'x');
  for (int i = 0; i < 63; ++i) ASSERT_EQ(written(std::to_string(i), text), std::to_string(i) + text);
  EXPECT_EQ(written("63", text), "there was more");
}

TEST_F(SentenceRoomTest, AVeryLongOneIsCutBetweenTwoCharacters) {
  const std::string text = std::string(kLongestSentence - 1, 'x') + "ä and so on";
  EXPECT_EQ(written("", text), text.substr(0, kLongestSentence - 1) + "… (12 more bytes)");
  for (int i = 0; i < 200; ++i) ASSERT_EQ(written("", text), "") << "the same again takes no room";
  EXPECT_EQ(written("", "short"), "short");
}

}  // namespace
}  // namespace castscope::store

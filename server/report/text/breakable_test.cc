#include "server/report/text/breakable.h"

#include <gtest/gtest.h>

#include <string>

namespace castscope::report {
namespace {

std::string broken(std::string_view text) {
  Html html;
  write_breakable(html, text);
  return html.take();
}

TEST(BreakableTest, PlacesBreakBetweenFoldersAndKeepTheirLineNumber) {
  EXPECT_EQ(broken("/opt/site/model.py:12"), "/opt/<wbr>site/<wbr>model.py:12");
  EXPECT_EQ(broken("src/flash_attention.py:1204"), "src/<wbr>flash_<wbr>attention.py:1204");
}

TEST(BreakableTest, ModulesBreakAtTheirDots) {
  EXPECT_EQ(broken("at::native::copy_kernel"), "at::<wbr>native::<wbr>copy_<wbr>kernel");
  EXPECT_EQ(broken("encoder.layer.0.attention"), "encoder.<wbr>layer.<wbr>0.<wbr>attention");
}

TEST(BreakableTest, ShortWordsAndSentencesStayWhole) {
  EXPECT_EQ(broken("train.py:9"), "train.py:9");
  EXPECT_EQ(broken("blocks.0.up and 3 more"), "blocks.0.up and 3 more");
  EXPECT_EQ(broken("weight-cast-repeatedly"), "weight-<wbr>cast-<wbr>repeatedly");
  EXPECT_EQ(broken("163.8 kB, <b>"), "163.8 kB, &lt;b&gt;");
}

TEST(BreakableTest, LongWordsBreakAtTheirHumpsOrElseAnywhere) {
  EXPECT_EQ(broken("CompiledFunctionBackward"), "Compiled<wbr>Function<wbr>Backward");
  EXPECT_EQ(broken("abcdefghijklmnopqrstuvwxyzabcdefgh.py:190"), "abcdefghijklmn<wbr>opqrstuvwxyzab<wbr>cdefgh.py:190");
  EXPECT_EQ(broken("ééééééééééééééééééééééééé"), "éééééééééééééé<wbr>ééééééééééé");
}

// A damaged or foreign file may name something so. In time that grows with the square of the length, it took minutes.
TEST(BreakableTest, AWordOfMegabytesIsWritten) {
  const std::string word(8'000'000, 'x');
  EXPECT_EQ(broken(word).size(), word.size() + (word.size() - 1) / 14 * 5);
}

}  // namespace
}  // namespace castscope::report

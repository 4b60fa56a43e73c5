#include "server/redaction/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "agent/lanes/definition_records.h"

namespace castscope::redaction {
namespace {

using lanes::DefinitionKind;
using ::testing::ElementsAre;

std::string record(DefinitionKind kind, std::uint32_t id, std::string_view payload) {
  lanes::DefinitionHeader header{};
  header.kind = kind, header.id = id;
  header.payload = static_cast<std::uint32_t>(payload.size());
  header.size = static_cast<std::uint32_t>(sizeof header + (payload.size() + 7) / 8 * 8);
  std::string result(header.size, '\0');
  std::memcpy(result.data(), &header, sizeof header);
  std::memcpy(result.data() + sizeof header, payload.data(), payload.size());
  return result;
}

class MessagesTest : public ::testing::Test {
 protected:
  std::string redacted(const std::string& records) { return redacted_records(*redaction_, records); }
  const std::shared_ptr<Redaction> redaction_ = Redaction::of("se.ret|node\\d").value();
};

TEST_F(MessagesTest, TextsOfRecordsAreReplacedAndNumbersStay) {
  const std::string code = record(DefinitionKind::kCode, 1, std::string("\1\0\0\0\2\0\0\0\7\0\0\0", 12));
  EXPECT_EQ(
      redacted(record(DefinitionKind::kString, 1, "/secret/train.py") + code + record(DefinitionKind::kString, 2, "f")),
      record(DefinitionKind::kString, 1, "/[redacted]/train.py") + code + record(DefinitionKind::kString, 2, "f"));
}

TEST_F(MessagesTest, ARecordThatIsDamagedTellsNothing) {
  const std::string unknown = record(static_cast<DefinitionKind>(77), 1, "secret");
  std::string longer = record(DefinitionKind::kString, 1, "secret");
  const std::uint32_t payload = 4000;
  std::memcpy(longer.data() + offsetof(lanes::DefinitionHeader, payload), &payload, sizeof payload);
  for (const std::string& damaged : {unknown, longer}) {
    const std::string result = redacted(damaged);
    EXPECT_EQ(result.size(), damaged.size());
    EXPECT_EQ(result.find("secret"), std::string::npos);
  }
}

TEST_F(MessagesTest, TheHelloAndTheGoodbyeToo) {
  v1::Hello hello;
  for (const char* word : {"python", "secret.py", "--token", "abc"}) hello.add_command(word);
  hello.set_cwd("/a/secret"), hello.set_checkout("/a"), hello.set_host("node7"), hello.set_run_file_name("secret-1");
  redact(*redaction_, hello);
  EXPECT_THAT(hello.command(), ElementsAre("python", "[redacted].py", "--token", "[redacted]"));
  EXPECT_EQ(hello.cwd(), "/a/[redacted]");
  EXPECT_EQ(hello.checkout(), "/a");
  EXPECT_EQ(hello.host(), "[redacted 2]");
  EXPECT_EQ(hello.run_file_name(), "[redacted]-1");
  v1::Goodbye goodbye;
  goodbye.add_notices("process 7 of secret went on");
  goodbye.add_missing()->set_sentence("se-ret");
  redact(*redaction_, goodbye);
  EXPECT_EQ(goodbye.notices(0), "process 7 of [redacted] went on");
  EXPECT_EQ(goodbye.missing(0).sentence(), "[redacted 3]");
}

}  // namespace
}  // namespace castscope::redaction

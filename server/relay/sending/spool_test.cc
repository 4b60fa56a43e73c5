#include "server/relay/sending/spool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "server/relay/sending/outbox.h"

namespace castscope::relay {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class SpoolTest : public testing::Test {
 protected:
  SpoolTest() {
    std::string pattern = testing::TempDir() + "/spool-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~SpoolTest() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/r.spool"; }
  std::unique_ptr<Spool> make(std::uint64_t most_bytes = 1 << 20) {
    v1::Hello hello;
    hello.set_run_id("run");
    hello.set_relay("r");
    hello.set_token("secret");
    auto spool =
        Spool::create(path(), {.address = "host:1", .tls = true, .root_certificate_file = "ca"}, hello, most_bytes);
    EXPECT_TRUE(spool.ok()) << spool.status();
    return *std::move(spool);
  }
  // A file with two messages; returns where the second begins.
  std::uint64_t make_two() {
    const auto spool = make();
    EXPECT_TRUE(spool->add(*message("first")).ok());
    const std::uint64_t second = spool->bytes();
    EXPECT_TRUE(spool->add(*message("second")).ok());
    return second;
  }
  static std::unique_ptr<v1::RelayMessage> message(const std::string& process) {
    auto message = std::make_unique<v1::RelayMessage>();
    message->mutable_batch()->set_process_key(process);
    return message;
  }
  void acknowledge(Outbox& outbox, std::uint64_t sequence) {
    v1::Ack ack;
    ack.set_sequence(sequence);
    EXPECT_TRUE(outbox.acknowledge(ack));
  }
  std::string folder_;
};

TEST_F(SpoolTest, HoldsAllThatASenderNeedsAndNoToken) {
  {
    const auto spool = make();
    ASSERT_TRUE(spool->add_introduction(*message("introduced")).ok());
    ASSERT_TRUE(spool->add(*message("first")).ok());
    ASSERT_TRUE(spool->add(*message("second")).ok());
    ASSERT_TRUE(spool->sync().ok());
  }
  Spool::Contents contents;
  const auto spool = Spool::open(path(), &contents);
  ASSERT_TRUE(spool.ok()) << spool.status();
  EXPECT_EQ(contents.damage, "");
  EXPECT_EQ(contents.destination.address, "host:1");
  EXPECT_TRUE(contents.destination.tls);
  EXPECT_EQ(contents.destination.root_certificate_file, "ca");
  EXPECT_EQ(contents.hello.run_id(), "run");
  EXPECT_EQ(contents.hello.token(), "");
  ASSERT_THAT(contents.introductions, SizeIs(1));
  EXPECT_EQ(contents.introductions[0].batch().process_key(), "introduced");
  ASSERT_THAT(contents.messages, SizeIs(2));
  EXPECT_EQ((*spool)->read(contents.messages[1])->batch().process_key(), "second");
  struct stat info {};
  ASSERT_EQ(stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(SpoolTest, OneAtATime) {
  const auto spool = make();
  Spool::Contents contents;
  EXPECT_THAT(std::string(Spool::open(path(), &contents).status().message()),
              HasSubstr("another castscope is at work"));
}

// Whatever byte is another one: what stands before it is read, and what is behind it is not taken for something else.
TEST_F(SpoolTest, DamageEndsIt) {
  std::uint64_t begin = 0;
  {
    const auto spool = make();
    begin = spool->bytes();
    ASSERT_TRUE(spool->add(*message("first")).ok());
    ASSERT_TRUE(spool->add(*message("second")).ok());
  }
  const auto size = std::filesystem::file_size(path());
  for (std::uint64_t at = begin; at < size; ++at) {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const char was = static_cast<char>(file.get());
    const auto put = [&](char byte) { file.seekp(static_cast<std::streamoff>(at)), file.put(byte), file.flush(); };
    put(static_cast<char>(was ^ 0x10));
    Spool::Contents contents;
    ASSERT_TRUE(Spool::open(path(), &contents).ok());
    EXPECT_THAT(contents.damage, testing::AnyOf(HasSubstr("is damaged after"), HasSubstr("was cut short after"))) << at;
    EXPECT_THAT(contents.messages, SizeIs(at < begin + (size - begin - 1) / 2 ? 0 : 1)) << at;
    put(was);
  }
  std::filesystem::resize_file(path(), size - 1);
  Spool::Contents contents;
  const auto cut = Spool::open(path(), &contents);
  ASSERT_TRUE(cut.ok());
  EXPECT_THAT(contents.messages, SizeIs(1));
  EXPECT_THAT(contents.damage, HasSubstr("was cut short after"));
}

// A length may be damaged, too, and point beyond the file's end, as that of a file does which was cut short.
TEST_F(SpoolTest, WhatIsBehindDamageStaysWhenTheRestHasGone) {
  for (const auto& [of_record, what] : {std::pair{9, "is damaged"}, {2, "was cut short"}}) {
    const std::uint64_t second = make_two();
    std::fstream(path(), std::ios::in | std::ios::out | std::ios::binary)
            .seekp(static_cast<std::streamoff>(second + of_record))
        << '\x10';
    Spool::Contents contents;
    const auto damaged = Spool::open(path(), &contents);
    ASSERT_TRUE(damaged.ok());
    EXPECT_THAT(contents.messages, SizeIs(1));
    EXPECT_THAT(contents.damage, HasSubstr(what));
    const auto size = std::filesystem::file_size(path());
    const absl::StatusOr<std::string> rest = (*damaged)->remove();
    ASSERT_TRUE(rest.ok()) << rest.status();
    EXPECT_FALSE(std::filesystem::exists(path()));
    EXPECT_EQ(std::filesystem::file_size(*rest), size);
    std::filesystem::remove(*rest);
  }
}

TEST_F(SpoolTest, APieceThatIsTooShortForARecordIsNotKept) {
  std::filesystem::resize_file(path(), make_two() + 8);
  Spool::Contents contents;
  const auto cut = Spool::open(path(), &contents);
  ASSERT_TRUE(cut.ok());
  EXPECT_THAT(contents.damage, HasSubstr("was cut short after"));
  EXPECT_EQ(*(*cut)->remove(), "");
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(SpoolTest, WhatIsBehindDamageTakesNoOtherFilesPlace) {
  for (const char* name : {".damaged", ".damaged-2", ".damaged-3"}) {
    std::filesystem::resize_file(path(), make_two() + 9);
    Spool::Contents contents;
    const auto rest = (*Spool::open(path(), &contents))->remove();
    ASSERT_TRUE(rest.ok()) << rest.status();
    EXPECT_EQ(*rest, path() + name);
  }
}

TEST_F(SpoolTest, AFileThatCannotBeDeletedIsSaid) {
  const auto spool = make();
  std::filesystem::rename(path(), path() + "-elsewhere");
  std::filesystem::create_directory(path());
  EXPECT_THAT(std::string(spool->remove().status().message()), HasSubstr(path() + " cannot be deleted: "));
}

TEST_F(SpoolTest, WhatIsNoSpoolIsSaid) {
  std::ofstream(path()) << "something else";
  Spool::Contents contents;
  EXPECT_THAT(std::string(Spool::open(path(), &contents).status().message()), HasSubstr("is no spool of castscope"));
  std::ofstream(path()) << "castscope spool 1\n";
  EXPECT_THAT(std::string(Spool::open(path(), &contents).status().message()), HasSubstr("does not say whose it is"));
}

TEST_F(SpoolTest, AnOutboxGoesOnOnDiskAndForgetsTheFileWhenAllIsAcknowledged) {
  Outbox outbox(100);
  outbox.push(message(std::string(200, 'x')), {});
  EXPECT_TRUE(outbox.full());
  ASSERT_TRUE(outbox.keep_in(make()).ok());
  EXPECT_FALSE(outbox.full());
  outbox.push(message("second"), {});
  EXPECT_EQ(outbox.next()->batch().process_key(), std::string(200, 'x'));
  EXPECT_EQ(outbox.next()->batch().sequence(), 2u);
  acknowledge(outbox, 1);
  EXPECT_TRUE(outbox.spools());
  acknowledge(outbox, 2);
  EXPECT_FALSE(outbox.spools());
  EXPECT_FALSE(std::filesystem::exists(path()));
  EXPECT_EQ(outbox.bytes(), 0u);
}

TEST_F(SpoolTest, WithoutRoomOnDiskAnOutboxIsFullInMemory) {
  Outbox outbox(100);
  ASSERT_TRUE(outbox.keep_in(make(200)).ok());
  outbox.push(message(std::string(300, 'x')), {});
  EXPECT_TRUE(outbox.full());
  EXPECT_EQ(outbox.next()->batch().process_key(), std::string(300, 'x'));
  EXPECT_THAT(std::string(outbox.sync().status().message()),
              HasSubstr("may not grow any more: CASTSCOPE_SPOOL_BYTES sets how much may"));
}

TEST_F(SpoolTest, AFileInWhichNothingFindsRoomDoesNotStay) {
  Outbox outbox(100);
  outbox.push(message(std::string(300, 'x')), {});
  EXPECT_FALSE(outbox.keep_in(make(200)).ok());
  EXPECT_FALSE(outbox.spools());
  EXPECT_FALSE(std::filesystem::exists(path()));
  EXPECT_EQ(outbox.next()->batch().process_key(), std::string(300, 'x'));
  ASSERT_TRUE(outbox.keep_in(make()).ok());
  EXPECT_EQ(*outbox.sync(), path());
}

TEST_F(SpoolTest, ARelayThatGoesOnNumbersWhereItsEarlierLifeEnded) {
  Outbox outbox(1000);
  outbox.push(message("first"), {});
  outbox.continue_after(7);
  outbox.push(message("second"), {});
  EXPECT_EQ(outbox.acknowledged(), 7u);
  EXPECT_EQ(outbox.next()->batch().sequence(), 8u);
  EXPECT_EQ(outbox.next()->batch().sequence(), 9u);
}

TEST_F(SpoolTest, ARelayWhoseEarlierLifeSaidGoodbyeHasNothingToSend) {
  Outbox outbox(1000);
  outbox.push(message("first"), {{.source = 1, .lane = 0, .end = 1, .events = 1, .last = true}});
  outbox.continue_after(7, true);
  outbox.push(message("second"), {{.source = 1, .lane = 0, .end = 2, .events = 1, .last = true}});
  EXPECT_TRUE(outbox.wait_until_empty(Outbox::Clock::now()));
  EXPECT_THAT(outbox.take_acknowledged(), SizeIs(2));
}

}  // namespace
}  // namespace castscope::relay

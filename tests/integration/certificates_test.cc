#include "server/ingest/listening/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/integration/certificate.h"

namespace castscope::ingest {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kStays[] = "; the certificate that was read before stays in use";

class CertificatesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "certificates-" + std::to_string(getpid());
    fs::create_directory(folder_);
    ASSERT_TRUE(write_certificate(file("cert"), file("key")) && write_certificate(file("other"), file("other-key")));
    fs::copy_file(file("other"), file("ca"));
    auto certificates = Certificates::read(options());
    ASSERT_TRUE(certificates.ok()) << certificates.status();
    certificates_ = *std::move(certificates);
    first_ = *certificates_->now();
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string file(const std::string& name) const { return folder_ + "/" + name; }
  Options options() {
    return {.certificate_file = file("cert"),
            .key_file = file("key"),
            .client_authorities_file = file("ca"),
            .certificates_told = [this](const std::string& sentence, bool is_trouble) {
              told_.push_back((is_trouble ? "wrong: " : "good: ") + sentence);
            }};
  }
  // Makes the file wrong, looks twice, and puts it back as it was.
  void expect_that_it_is_told(const std::string& name, const std::string& why, const auto& spoil) {
    fs::rename(file(name), file("kept"));
    spoil(file(name));
    EXPECT_THAT(std::string(Certificates::read(options()).status().message()), HasSubstr(why)) << "at the start";
    certificates_->look_again();
    certificates_->look_again();
    EXPECT_THAT(told_,
                ElementsAre(AllOf(StartsWith("wrong: "), HasSubstr(file(name)), HasSubstr(why), EndsWith(kStays))));
    EXPECT_EQ(*certificates_->now(), first_);
    fs::remove_all(file(name));
    fs::rename(file("kept"), file(name));
    told_.clear();
    certificates_->look_again();
    EXPECT_THAT(told_, ElementsAre("good: the files of the certificate " + file("cert") + " are good again"));
    told_.clear();
  }
  static std::string text_of(const std::string& path) {
    std::ifstream stream(path);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static auto writes(const std::string& text) {
    return [text](const std::string& path) { std::ofstream(path) << text; };
  }

  std::string folder_;
  std::vector<std::string> told_;
  std::unique_ptr<Certificates> certificates_;
  Certificates::Texts first_;
};

TEST_F(CertificatesTest, WhatCannotBeReadChangesNothing) {
  for (const char* const name : {"cert", "key", "ca"}) {
    expect_that_it_is_told(name, "it is empty", writes(""));
    expect_that_it_is_told(name, "it is a folder", [](const std::string& path) { fs::create_directory(path); });
    expect_that_it_is_told(name, "it is no ordinary file",  // and it is not waited for
                           [](const std::string& path) { ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); });
    expect_that_it_is_told(name, "No such file or directory", [](const std::string&) {});
    expect_that_it_is_told(name, "zero bytes", writes(std::string(4096, '\0')));
    if (geteuid() != 0)
      expect_that_it_is_told(name, "Permission denied", [](const std::string& path) {
        std::ofstream(path) << "text";
        fs::permissions(path, fs::perms::none);
      });
  }
}

TEST_F(CertificatesTest, WhatDoesNotBelongTogetherChangesNothing) {
  const std::string certificate = text_of(file("cert")), key = text_of(file("key"));
  for (const char* const name : {"cert", "ca"}) {
    expect_that_it_is_told(name, "has no PEM certificate", writes("hello"));
    expect_that_it_is_told(name, "that is damaged", writes(certificate.substr(0, certificate.size() / 2)));
    // The end of a chain, or of the authorities, is missing.
    expect_that_it_is_told(name, "that is damaged",
                           writes(certificate + certificate.substr(0, certificate.size() / 2)));
  }
  expect_that_it_is_told("key", "has no PEM key", writes("hello"));
  expect_that_it_is_told("key", "has no PEM key", writes(key.substr(0, key.size() / 2)));
  expect_that_it_is_told("key", "is not the key of the certificate in", writes(text_of(file("other-key"))));
}

TEST_F(CertificatesTest, WhatBelongsTogetherIsTaken) {
  certificates_->look_again();
  EXPECT_TRUE(told_.empty()) << "nothing has changed";
  fs::rename(file("other"), file("cert"));
  certificates_->look_again();  // between the two
  EXPECT_THAT(told_, ElementsAre(HasSubstr("is not the key of the certificate in")));
  EXPECT_EQ(*certificates_->now(), first_);
  fs::rename(file("other-key"), file("key"));
  certificates_->look_again();
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(told_[1], "good: the certificate was read again from " + file("cert"));
  EXPECT_EQ(certificates_->now()->certificates, text_of(file("cert")));
  EXPECT_EQ(certificates_->now()->key, text_of(file("key")));
}

}  // namespace
}  // namespace castscope::ingest

#include "proto/tls_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/integration/certificate.h"

namespace castscope::wire {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class TlsFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "tls-files-" + std::to_string(getpid());
    std::filesystem::create_directory(folder_);
    ASSERT_TRUE(write_certificate(in_folder("cert.pem"), in_folder("key.pem")));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string in_folder(const std::string& name) const { return folder_ + "/" + name; }
  std::string written(const std::string& name, const std::string& text) const {
    std::ofstream(in_folder(name), std::ios::binary) << text;
    return in_folder(name);
  }
  std::string text_of(const std::string& name) const { return *read_certificates(in_folder(name)); }
  std::string problem_of_key(const std::string& file) const {
    return std::string(read_key(file, text_of("cert.pem"), "cert.pem").status().message());
  }
  static std::string problem(const std::string& file) {
    return std::string(read_certificates(file).status().message());
  }
  std::string folder_;
};

TEST_F(TlsFilesTest, ACertificateAndItsKeyAreRead) {
  EXPECT_THAT(text_of("cert.pem"), StartsWith("-----BEGIN CERTIFICATE-----"));
  EXPECT_TRUE(read_key(in_folder("key.pem"), text_of("cert.pem"), "cert.pem").ok());
}

TEST_F(TlsFilesTest, AFileThatCannotBeReadIsNamed) {
  EXPECT_EQ(problem("/nowhere/c.pem"), "cannot read the certificate /nowhere/c.pem: No such file or directory");
  EXPECT_THAT(problem(written("empty.pem", "")), EndsWith("empty.pem: it is empty"));
  EXPECT_EQ(problem_of_key("/nowhere/k.pem"), "cannot read the key /nowhere/k.pem: No such file or directory");
}

TEST_F(TlsFilesTest, ACertificateThatIsNotPemIsTold) {
  EXPECT_THAT(problem(written("c.der", "\x30\x82\x01\x0a")),
              AllOf(StartsWith(in_folder("c.der")), HasSubstr("has no PEM certificate"), HasSubstr("-inform der")));
  EXPECT_THAT(problem(in_folder("key.pem")), HasSubstr("has no PEM certificate"));
  EXPECT_THAT(problem(written("half.pem", text_of("cert.pem").substr(0, 90))), HasSubstr("that is damaged"));
}

TEST_F(TlsFilesTest, AKeyThatDoesNotFitIsTold) {
  EXPECT_THAT(problem_of_key(in_folder("cert.pem")), HasSubstr("has no PEM key"));
  ASSERT_TRUE(write_certificate(in_folder("other.pem"), in_folder("other-key.pem")));
  EXPECT_THAT(problem_of_key(in_folder("other-key.pem")), HasSubstr("is not the key of the certificate in cert.pem"));
  EXPECT_THAT(problem_of_key(written("secret.pem",
                                     "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n"
                                     "-----END ENCRYPTED PRIVATE KEY-----\n")),
              HasSubstr("has a key with a password"));
}

}  // namespace
}  // namespace castscope::wire

#include "server/relay/sending/spool.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace castscope::relay {
namespace {

constexpr std::string_view kSpoolBegin = "castscope spool 1\n";
constexpr char kWhereto = 'w', kHello = 'h', kIntroduction = 'i', kMessage = 'm';
constexpr std::uint32_t kLongestRecord = 64u << 20;

struct RecordHead {
  std::uint32_t length = 0, checksum = 0;
};

absl::Status failed(const std::string& path, const char* what) {
  const int error = errno;
  const std::string sentence = absl::StrCat(path, " cannot be ", what, ": ", std::strerror(error));
  return error == ENOSPC || error == EDQUOT ? absl::ResourceExhaustedError(sentence) : absl::UnavailableError(sentence);
}

bool write_all(int file, std::string_view text, std::uint64_t offset) {
  while (!text.empty()) {
    const ssize_t done = pwrite(file, text.data(), text.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
  return true;
}

bool read_all_of(int file, char* to, std::size_t bytes, std::uint64_t offset) {
  while (bytes > 0) {
    const ssize_t done = pread(file, to, bytes, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    to += done, bytes -= static_cast<std::size_t>(done), offset += static_cast<std::uint64_t>(done);
  }
  return true;
}

std::uint32_t checksum_of(std::string_view record) {
  return static_cast<std::uint32_t>(
      crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(record.data()), record.size()));
}

std::string in_one(const Destination& whereto) {
  return absl::StrJoin(
      std::initializer_list<std::string>{whereto.address, whereto.tls ? "tls" : "", whereto.root_certificate_file,
                                         whereto.certificate_file, whereto.key_file, whereto.token_proof},
      "\n");
}

Destination from_one(const std::string& text) {
  std::vector<std::string> parts = absl::StrSplit(text, '\n');
  if (parts.size() < 3) return {};
  parts.resize(6);  // spools of before had three, and five
  return {.address = parts[0],
          .tls = parts[1] == "tls",
          .root_certificate_file = parts[2],
          .certificate_file = parts[3],
          .key_file = parts[4],
          .token_proof = parts[5]};
}

// Puts what a record holds into where it belongs; false: it makes no sense.
bool take(std::string_view record, std::uint64_t offset, Spool::Contents* to) {
  const std::string content(record.substr(1));
  switch (record.front()) {
    case kWhereto:
      to->destination = from_one(content);
      return !to->destination.address.empty();
    case kHello:
      return to->hello.ParseFromString(content);
    case kIntroduction:
      return to->introductions.emplace_back().ParseFromString(content);
    case kMessage:
      to->messages.push_back({.offset = offset, .bytes = static_cast<std::uint32_t>(content.size())});
      return true;
    default:
      return false;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Spool>> Spool::create(const std::string& path, const Destination& whereto,
                                                     v1::Hello hello, std::uint64_t most_bytes) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return failed(path, "made");
  std::unique_ptr<Spool> spool(new Spool(path, file, most_bytes));
  hello.clear_token();
  absl::Status status;
  if (flock(file, LOCK_EX | LOCK_NB) != 0 || !write_all(file, kSpoolBegin, 0)) status = failed(path, "written");
  spool->size_ = kSpoolBegin.size();
  if (status.ok()) status = spool->append(kWhereto, in_one(whereto)).status();
  if (status.ok()) status = spool->append(kHello, hello.SerializeAsString()).status();
  if (status.ok()) return spool;
  unlink(path.c_str());  // half a beginning is of no use
  return status;
}

absl::StatusOr<std::unique_ptr<Spool>> Spool::open(const std::string& path, Contents* contents) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return failed(path, "opened");
  std::unique_ptr<Spool> spool(new Spool(path, file, 0));
  struct stat info {};
  if (fstat(file, &info) != 0) return failed(path, "read");
  if (!S_ISREG(info.st_mode) || info.st_uid != geteuid())
    return absl::InvalidArgumentError(absl::StrCat(path, " is no file of this user"));
  if (flock(file, LOCK_EX | LOCK_NB) != 0)
    return absl::AbortedError(absl::StrCat(path, ": another castscope is at work with it"));
  spool->size_ = static_cast<std::uint64_t>(info.st_size);
  if (absl::Status status = spool->read_all(contents); !status.ok()) return status;
  return spool;
}

absl::Status Spool::read_all(Contents* contents) {
  std::string begin(kSpoolBegin.size(), '\0');
  if (!read_all_of(file_, begin.data(), begin.size(), 0) || begin != kSpoolBegin)
    return absl::InvalidArgumentError(absl::StrCat(path_, " is no spool of castscope"));
  RecordHead head;
  std::string record;
  for (std::uint64_t at = begin.size(); at < size_; at += sizeof head + head.length) {
    bool whole = read_all_of(file_, reinterpret_cast<char*>(&head), sizeof head, at) && head.length > 0 &&
                 head.length <= kLongestRecord && at + sizeof head + head.length <= size_;
    if (whole) record.resize(head.length);
    whole = whole && read_all_of(file_, record.data(), record.size(), at + sizeof head) &&
            checksum_of(record) == head.checksum && take(record, at + sizeof head + 1, contents);
    if (whole) continue;
    const bool cut =
        at + sizeof head > size_ || (head.length <= kLongestRecord && at + sizeof head + head.length > size_);
    contents->damage =
        absl::StrCat(path_, cut ? " was cut short" : " is damaged", " after ", at, " of its ", size_, " bytes");
    has_rest_ = at + sizeof head < size_;
    break;
  }
  if (contents->destination.address.empty() || contents->hello.run_id().empty())
    return absl::DataLossError(absl::StrCat(path_, " is damaged: it does not say whose it is and where it is to go"));
  return absl::OkStatus();
}

Spool::~Spool() { close(file_); }

absl::StatusOr<Spool::Place> Spool::append(char kind, const std::string& content) {
  std::string record(sizeof(RecordHead), '\0');
  record += kind;
  record += content;
  const std::string_view body = std::string_view(record).substr(sizeof(RecordHead));
  const RecordHead head{.length = static_cast<std::uint32_t>(body.size()), .checksum = checksum_of(body)};
  std::memcpy(record.data(), &head, sizeof head);
  if (!write_all(file_, record, size_)) {
    const absl::Status status = failed(path_, "written");
    (void)ftruncate(file_, static_cast<off_t>(size_));  // what comes next must not follow on half a record
    return status;
  }
  const Place place{.offset = size_ + sizeof head + 1, .bytes = static_cast<std::uint32_t>(content.size())};
  size_ += record.size();
  return place;
}

absl::Status Spool::add_introduction(const v1::RelayMessage& message) {
  return append(kIntroduction, message.SerializeAsString()).status();
}

absl::StatusOr<Spool::Place> Spool::add(const v1::RelayMessage& message) {
  return append(kMessage, message.SerializeAsString());
}

absl::StatusOr<v1::RelayMessage> Spool::read(const Place& place) const {
  std::string content(place.bytes, '\0');
  v1::RelayMessage message;
  if (!read_all_of(file_, content.data(), content.size(), place.offset)) return failed(path_, "read");
  if (!message.ParseFromString(content))
    return absl::DataLossError(absl::StrCat(path_, " was damaged while it was used"));
  return message;
}

absl::Status Spool::sync() {
  if (fsync(file_) != 0) return failed(path_, "kept by the disk");
  const int folder = ::open(std::filesystem::path(path_).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) (void)fsync(folder), close(folder);
  return absl::OkStatus();
}

absl::StatusOr<std::string> Spool::remove() {
  if (!has_rest_) {
    if (unlink(path_.c_str()) == 0 || errno == ENOENT) return "";
    return failed(path_, "deleted");
  }
  // Nobody else gives these names: this process has the file's lock.
  std::string rest = path_ + ".damaged";
  std::error_code error;
  for (int number = 2; std::filesystem::exists(std::filesystem::symlink_status(rest, error)); ++number)
    rest = absl::StrCat(path_, ".damaged-", number);
  if (std::rename(path_.c_str(), rest.c_str()) != 0) return failed(path_, "renamed");
  return rest;
}

}  // namespace castscope::relay

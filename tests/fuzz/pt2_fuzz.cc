// A .pt2 archive (server/exported/program/package_reader.h). The checksums that a zip archive has of its files are made
// right where the input asks for it.
#include <zlib.h>

#include <cstring>
#include <string>

#include "server/exported/program/package_reader.h"
#include "server/exported/program/zip_archive.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/scratch.h"

namespace castscope::fuzz {
namespace {

constexpr std::uint64_t kMostProgram = 1 << 20;
constexpr std::size_t kChecksumAt = 14, kSizesAt = 18, kNameAt = 30;  // in the head of a stored file
constexpr std::size_t kCentralChecksumAt = 16, kCentralOffsetAt = 42, kCentralHead = 46;

template <typename T>
T number_at(const std::string& bytes, std::size_t at) {
  T value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Files that are stored as they are get the checksum of what they now hold.
void set_checksums(std::string& zip) {
  for (std::size_t central = zip.find("PK\x01\x02"); central != zip.npos && central + kCentralHead <= zip.size();
       central = zip.find("PK\x01\x02", central + 1)) {
    const auto head = number_at<std::uint32_t>(zip, central + kCentralOffsetAt);
    const std::size_t begin = std::size_t{head} + kNameAt + number_at<std::uint16_t>(zip, std::size_t{head} + 26) +
                              number_at<std::uint16_t>(zip, std::size_t{head} + 28);
    const auto size = number_at<std::uint32_t>(zip, std::size_t{head} + kSizesAt);
    if (begin > zip.size() || size > zip.size() - begin) continue;
    const auto sum = static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(zip.data() + begin), size));
    std::memcpy(zip.data() + central + kCentralChecksumAt, &sum, sizeof sum);
    if (head + kSizesAt <= zip.size()) std::memcpy(zip.data() + head + kChecksumAt, &sum, sizeof sum);
  }
}

}  // namespace

CASTSCOPE_FUZZER(pt2, 1500, 16384) {
  Bytes bytes(input);
  const bool right = bytes.flag();
  std::string zip(bytes.rest());
  if (right) set_checksums(zip);
  const std::string path = scratch_file("model.pt2", zip);
  (void)exported::is_zip(path);
  const auto package = exported::read_package(path, kMostProgram);
  if (package.ok()) {
    CASTSCOPE_PROMISE(!package->programs.empty(), "a package that is read has a program");
    return;
  }
  const std::string sentence(package.status().message());
  CASTSCOPE_PROMISE(sentence.starts_with(path) && sentence.size() > path.size() + 1, "a refusal names the file");
}

}  // namespace castscope::fuzz

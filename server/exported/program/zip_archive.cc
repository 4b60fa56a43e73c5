#include "server/exported/program/zip_archive.h"

#include <minizip/unzip.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace castscope::exported {
namespace {

constexpr std::size_t kMostEntries = 500'000;  // a model has one for each weight, and some more
constexpr std::size_t kMostName = 1000;  // bytes; longer names are cut, and a cut name is never one that is looked for

absl::Status damaged(std::string_view what) {
  return absl::DataLossError(absl::StrCat("the zip archive is cut short or damaged: ", std::string(what)));
}

constexpr std::string_view kFirstEntry = "PK\x03\x04", kEndWithoutAny = "PK\x05\x06";

std::string first_bytes(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return "";  // a pipe could not be read a second time
  std::array<char, 4> begin{};
  std::ifstream stream(file, std::ios::binary);
  stream.read(begin.data(), begin.size());
  return {begin.data(), static_cast<std::size_t>(stream.gcount())};
}

}  // namespace

bool is_zip(const std::string& file) {
  const std::string magic = first_bytes(file);
  return magic == kFirstEntry || magic == kEndWithoutAny;
}

void ZipArchive::Close::operator()(void* handle) const { unzClose(handle); }

absl::StatusOr<ZipArchive> ZipArchive::open(const std::string& file) {
  ZipArchive archive;
  archive.handle_.reset(unzOpen64(file.c_str()));
  // minizip looks for an end record that has something before it.
  if (archive.handle_ == nullptr && first_bytes(file) == kEndWithoutAny) return archive;
  if (archive.handle_ == nullptr) return damaged("its table of contents, which stands at its end, is not there");
  unz_global_info64 global{};
  if (unzGetGlobalInfo64(archive.handle_.get(), &global) != UNZ_OK) return damaged("its end cannot be read");
  if (global.number_entry > kMostEntries)
    return absl::InvalidArgumentError(absl::StrCat("the zip archive says that it has ", global.number_entry,
                                                   " files, and no model has more than ", kMostEntries));
  if (global.number_entry == 0) return archive;
  int status = unzGoToFirstFile(archive.handle_.get());
  for (std::uint64_t i = 0; status == UNZ_OK && i < global.number_entry; ++i) {
    std::array<char, kMostName + 1> name{};
    unz_file_info64 info{};
    status = unzGetCurrentFileInfo64(archive.handle_.get(), &info, name.data(), kMostName, nullptr, 0, nullptr, 0);
    if (status != UNZ_OK) break;
    archive.entries_.push_back({name.data(), info.uncompressed_size});
    if (i + 1 < global.number_entry) status = unzGoToNextFile(archive.handle_.get());
  }
  if (archive.entries_.size() != global.number_entry) return damaged("its table of contents is not whole");
  return archive;
}

const ZipArchive::Entry* ZipArchive::find(const std::string& name) const {
  const auto at =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.name == name; });
  return at == entries_.end() ? nullptr : &*at;
}

absl::StatusOr<std::string> ZipArchive::read(const std::string& name, std::uint64_t most) const {
  const auto too_large = [&](std::uint64_t size) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " in it unpacks to ", size, " bytes or more, and at most ", most, " are read"));
  };
  const Entry* const entry = find(name);
  if (entry == nullptr) return absl::NotFoundError(absl::StrCat("it has no ", name));
  if (entry->size > most) return too_large(entry->size);
  if (unzLocateFile(handle_.get(), name.c_str(), 1) != UNZ_OK || unzOpenCurrentFile(handle_.get()) != UNZ_OK)
    return damaged(name + " cannot be read");
  absl::Cleanup close = [&] { unzCloseCurrentFile(handle_.get()); };
  std::string text;
  std::array<char, 64 << 10> chunk;
  for (;;) {
    const int got = unzReadCurrentFile(handle_.get(), chunk.data(), chunk.size());
    if (got < 0) return damaged(name + " cannot be unpacked");
    if (got == 0) break;
    text.append(chunk.data(), static_cast<std::size_t>(got));
    if (text.size() > most) return too_large(text.size());
  }
  std::move(close).Cancel();
  // This call reports a wrong checksum once the whole entry was read.
  if (unzCloseCurrentFile(handle_.get()) != UNZ_OK || text.size() != entry->size)
    return damaged(name + " is not what was packed");
  return text;
}

}  // namespace castscope::exported

#include "server/cli/agents/prebuilt.h"

#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "server/cli/toolkit/child.h"
#include "server/cli/toolkit/elf.h"
#include "server/cli/toolkit/recipe.h"

namespace castscope::cli {
namespace {

using nlohmann::json;

// An archive is the length of its index (8 bytes, little-endian), the index (JSON), and the compressed agents one after
// the other.
constexpr std::size_t kLengthBytes = 8;

absl::Status damaged() { return absl::DataLossError("the agents that this program carries are damaged"); }

std::vector<PrebuiltAgent> carried_agents() {
  const auto archive = section_of(program_path(), kPrebuiltSection);
  if (!archive.ok() || archive->empty()) return {};
  auto agents = agents_in(*archive, source_hash());
  return agents.ok() ? *std::move(agents) : std::vector<PrebuiltAgent>();
}

}  // namespace

std::string archive_of(const std::vector<PrebuiltAgent>& agents, std::string_view sources) {
  json list = json::array();
  std::string content;
  for (const PrebuiltAgent& agent : agents) {
    list.push_back({{"torch_key", agent.torch_key},
                    {"torch_version", agent.torch_version},
                    {"cxx11_abi", agent.cxx11_abi},
                    {"offset", content.size()},
                    {"bytes", agent.compressed.size()}});
    content += agent.compressed;
  }
  const std::string index = json{{"source_hash", sources}, {"agents", list}}.dump();
  std::string length(kLengthBytes, '\0');
  for (std::size_t i = 0; i < kLengthBytes; i++) length[i] = static_cast<char>(index.size() >> (8 * i));
  return length + index + content;
}

absl::StatusOr<std::vector<PrebuiltAgent>> agents_in(std::string_view archive, std::string_view sources) {
  if (archive.size() < kLengthBytes) return damaged();
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; i++)
    length |= std::uint64_t{static_cast<unsigned char>(archive[i])} << (8 * i);
  if (length > archive.size() - kLengthBytes) return damaged();
  const json index = json::parse(archive.substr(kLengthBytes, length), nullptr, false);
  const std::string_view content = archive.substr(kLengthBytes + length);
  if (!index.is_object() || !index.contains("agents")) return damaged();
  if (index.value("source_hash", "") != sources) return std::vector<PrebuiltAgent>();
  std::vector<PrebuiltAgent> result;
  for (const json& agent : index["agents"]) {
    const auto offset = agent.value("offset", std::size_t{0}), bytes = agent.value("bytes", std::size_t{0});
    if (offset > content.size() || bytes > content.size() - offset) return damaged();
    result.push_back({agent.value("torch_key", ""), agent.value("torch_version", ""), agent.value("cxx11_abi", true),
                      std::string(content.substr(offset, bytes))});
  }
  return result;
}

std::string release_of(const std::string& torch_version) { return torch_version.substr(0, torch_version.find('+')); }

std::vector<PrebuiltAgent> prebuilt_for(const TorchInstall& torch) {
  std::vector<PrebuiltAgent> result = carried_agents();
  std::erase_if(result, [&](const PrebuiltAgent& agent) {
    const bool of_this_release = agent.torch_version == release_of(torch.version) && agent.cxx11_abi == torch.cxx11_abi;
    return agent.torch_key != torch.key && !of_this_release;
  });
  std::stable_sort(result.begin(), result.end(), [&](const PrebuiltAgent& a, const PrebuiltAgent& b) {
    return (a.torch_key == torch.key) > (b.torch_key == torch.key);
  });
  return result;
}

absl::StatusOr<std::string> decompressed(const std::string& compressed) {
  constexpr unsigned long long kMost = 64 << 20;  // an agent has 1 MB
  const unsigned long long size = ZSTD_getFrameContentSize(compressed.data(), compressed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > kMost) return damaged();
  std::string content(size, '\0');
  const std::size_t got = ZSTD_decompress(content.data(), content.size(), compressed.data(), compressed.size());
  if (ZSTD_isError(got) || got != size) return damaged();
  return content;
}

std::string compressed(const std::string& content) {
  constexpr int kLevel = 19;
  std::string result(ZSTD_compressBound(content.size()), '\0');
  const std::size_t size = ZSTD_compress(result.data(), result.size(), content.data(), content.size(), kLevel);
  result.resize(ZSTD_isError(size) ? 0 : size);
  return result;
}

}  // namespace castscope::cli

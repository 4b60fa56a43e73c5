#include "tests/fuzz/mutation.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace castscope::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::uint64_t, 8> kEdges = {0, 0x7f, 0xff, 0x7fff, 0xffffffff, 1ull << 31, ~0ull >> 1, ~0ull};

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The word of one line, without the quotation marks around it.
std::string plain(std::string_view quoted) {
  std::string word;
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] != '\\' || i + 1 == quoted.size()) {
      word += quoted[i];
    } else if (quoted[++i] != 'x' || i + 2 >= quoted.size()) {
      word += quoted[i];
    } else {
      std::uint8_t byte = 0;
      std::from_chars(quoted.data() + i + 1, quoted.data() + i + 3, byte, 16);
      word += static_cast<char>(byte);
      i += 2;
    }
  }
  return word;
}

}  // namespace

std::vector<std::string> words_of(std::string_view dictionary) {
  std::vector<std::string> words;
  while (!dictionary.empty()) {
    const std::string_view line = dictionary.substr(0, dictionary.find('\n'));
    dictionary.remove_prefix(std::min(dictionary.size(), line.size() + 1));
    const std::size_t begin = line.find('"'), end = line.rfind('"');
    if (!line.starts_with('#') && begin < end && end != line.npos)
      words.push_back(plain(line.substr(begin + 1, end - begin - 1)));
  }
  return words;
}

Corpus read_corpus(const std::string& folder, const std::string& name) {
  Corpus corpus;
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& file : fs::directory_iterator(fs::path(folder) / "corpus" / name, none)) files.push_back(file);
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) corpus.inputs.push_back(bytes_of(file));
  corpus.words = words_of(bytes_of(fs::path(folder) / (name + ".dict")));
  return corpus;
}

std::string Mutation::next() {
  std::string input = corpus_.inputs[below(corpus_.inputs.size())];
  for (std::size_t changes = 1 + below(8); changes > 0; --changes) change(input);
  input.resize(std::min(input.size(), most_bytes_));
  return input;
}

void Mutation::change(std::string& input) {
  const std::size_t at = below(input.size() + 1), length = std::min(below(16) + 1, input.size() - at);
  const std::string& other = corpus_.inputs[below(corpus_.inputs.size())];
  switch (below(8)) {
    case 0:
      if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
      break;
    case 1:
      input.replace(at, std::min<std::size_t>(1, length), 1, static_cast<char>(random_()));
      break;
    case 2:
      input.erase(at, length);
      break;
    case 3:
      input.insert(at, input.substr(below(input.size() + 1), 1 + below(32)));
      break;
    case 4: {  // a part of another input
      const std::size_t from = below(other.size() + 1);
      input.replace(at, length, other.substr(from, 1 + below(64)));
      break;
    }
    case 5:
      if (!corpus_.words.empty()) input.replace(at, below(2) * length, corpus_.words[below(corpus_.words.size())]);
      break;
    case 6: {  // a number at the edge of its type, in place of as many bytes
      const std::uint64_t number = kEdges[below(kEdges.size())];
      const std::size_t width = std::min<std::size_t>(std::size_t{1} << below(4), input.size() - at);
      for (std::size_t i = 0; i < width; ++i) input[at + i] = static_cast<char>(number >> (8 * i));
      break;
    }
    default:
      input.resize(at);
      break;
  }
}

}  // namespace castscope::fuzz

// A fuzzer's corpus and dictionary, and inputs that are made of them by chance.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace castscope::fuzz {

struct Corpus {
  std::vector<std::string> inputs;  // in the order of their files' names
  std::vector<std::string> words;   // of the dictionary
};

// Reads FOLDER/corpus/NAME and FOLDER/NAME.dict, where there is one.
Corpus read_corpus(const std::string& folder, const std::string& name);
// Reads a dictionary in libFuzzer's form: "word" or name="word" in a line, with \xNN, \\ and \" in it.
std::vector<std::string> words_of(std::string_view dictionary);

class Mutation {
 public:
  Mutation(const Corpus& corpus, std::size_t most_bytes) : corpus_(corpus), most_bytes_(most_bytes) {}
  // The next input: one of the corpus, changed one to eight times.
  std::string next();

 private:
  void change(std::string& input);
  std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }

  const Corpus& corpus_;
  const std::size_t most_bytes_;
  std::mt19937_64 random_;  // always begins with the same numbers
};

}  // namespace castscope::fuzz

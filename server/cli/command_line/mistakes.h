// Sentences about what is wrong with a command line.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

namespace castscope::cli {

// Told of a word that stands in a command's place, and resembles no command; see CommandLine::hint_at_commands.
using Hint = std::function<std::string(const std::string& word)>;

// `program` is the command line that was read when the library threw `error`; `words` are those on it. The sentence
// names the word that is wrong, guesses what was meant, and tells where to read on.
std::string sentence_about(const CLI::ParseError& error, const CLI::App& program, const Hint& hint,
                           const std::vector<std::string>& words);

// The same, after the line was read, for a command that takes other words: the first of them must not be an option,
// since options of a job stand behind the job's name. "" = nothing is wrong.
std::string sentence_about_other_words(const CLI::App& program);

}  // namespace castscope::cli

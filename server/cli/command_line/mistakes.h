// Sentences about what is wrong with a command line.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace castscope::cli {

// `program` is the command line that was read when the library threw `error`. The sentence names the word that is
// wrong, guesses what was meant, and tells where to read on.
std::string sentence_about(const CLI::ParseError& error, const CLI::App& program);

// The same, after the line was read, for a command that takes other words: the first of them must not be an option,
// since options of a job stand behind the job's name. "" = nothing is wrong.
std::string sentence_about_other_words(const CLI::App& program);

}  // namespace castscope::cli

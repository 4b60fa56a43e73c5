#include "server/cli/command_line/mistakes.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/cli/command_line/help_text.h"
#include "server/config/nearest.h"

namespace castscope::cli {
namespace {

// The command that was being read: the last one of `castscope policy explain`.
const CLI::App& chosen(const CLI::App& program) {
  const CLI::App* command = &program;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().back();
  return *command;
}

std::string meant(const std::string& written, const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  return config::meant(written, views);
}

std::vector<std::string> listed_commands(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* one : command.get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); }))
    names.push_back(one->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options([](const CLI::Option* o) { return !o->get_positional(); })) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string about_option(const CLI::App& command, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  return absl::StrCat("there is no option ", name, meant(name, option_names(command)));
}

// About a command that does nothing without a command of its own.
std::string about_command(const CLI::App& command, const std::vector<std::string>& left, const Hint& hint) {
  if (left.empty()) return absl::StrCat("a command is missing after `", full_name(command), "`");
  if (left[0].starts_with("-") && left[0] != "--") return about_option(command, left[0]);
  const std::string guess = meant(left[0], listed_commands(command));
  return absl::StrCat("there is no command ", left[0], guess.empty() ? hint(left[0]) : guess);
}

std::string about_too_many(const std::vector<std::string>& words) {
  return absl::StrCat(words.size() == 1 ? "this word is too many: " : "these words are too many: ",
                      absl::StrJoin(words, " "));
}

// The first of these words that is meant as an option, or "".
std::string unknown_option(const std::vector<std::string>& left) {
  const auto option = std::find_if(left.begin(), left.end(), [](const auto& word) { return word.starts_with("-"); });
  return option == left.end() ? "" : *option;
}

std::string about_extra_words(const CLI::App& command, const std::vector<std::string>& left) {
  const std::string option = unknown_option(left);
  return option.empty() ? about_too_many(left) : about_option(command, option);
}

// Words that CLI11 leaves to a command further up: those before the name of this one, and some of those behind "--".
std::string about_misplaced_words(const CLI::App& command, const std::vector<std::string>& left,
                                  const std::vector<std::string>& words) {
  const auto name = std::find(words.begin(), words.end(), command.get_name());
  if (std::find(words.begin(), name, left[0]) == name) return about_too_many(left);
  return absl::StrCat(left[0], " stands before `", full_name(command), "`: what belongs to it stands behind it");
}

std::string about_missing(const CLI::App& command) {
  std::vector<std::string> missing;
  for (const CLI::Option* option :
       command.get_options([](const CLI::Option* o) { return o->get_required() && o->count() == 0; }))
    missing.push_back(shown_name(*option));
  return absl::StrCat(absl::StrJoin(missing, " and "), missing.size() == 1 ? " is missing" : " are missing");
}

// The library's text names the option first, with or without its dashes.
const CLI::Option* option_of(const CLI::ParseError& error, const CLI::App& command) {
  std::string_view text = error.what();
  constexpr std::string_view kOfConversions = "Could not convert: ";
  if (text.starts_with(kOfConversions)) text.remove_prefix(kOfConversions.size());
  for (const CLI::Option* option : command.get_options()) {
    std::string name = option->get_name();
    if (!text.starts_with('-')) name.erase(0, name.find_first_not_of('-'));
    if (text.starts_with(name) && text.substr(name.size(), 1).find_first_of(": ") == 0) return option;
  }
  return nullptr;
}

std::string about_value(const CLI::ParseError& error, const CLI::App& command) {
  const CLI::Option* option = option_of(error, command);
  if (option == nullptr) return error.what();
  if (option->count() > 1) return absl::StrCat(shown_name(*option), " is given twice");
  if (option->get_expected_max() == 0 || option->get_type_name().empty())
    return absl::StrCat(shown_name(*option), " takes no value");
  return absl::StrCat(shown_name(*option), " needs a value, ", option->get_type_name());
}

std::string about_pair(const CLI::App& command) {
  const auto given = [](const CLI::Option* option) { return option->count() > 0; };
  for (const CLI::Option* option : command.get_options(given)) {
    for (const CLI::Option* other : option->get_excludes())
      if (given(other)) return absl::StrCat(shown_name(*option), " and ", shown_name(*other), " exclude each other");
    for (const CLI::Option* other : option->get_needs())
      if (!given(other)) return absl::StrCat(shown_name(*option), " needs ", shown_name(*other));
  }
  return "";
}

std::string what_is_wrong(const CLI::ParseError& error, const CLI::App& program, const Hint& hint,
                          const std::vector<std::string>& words) {
  const CLI::App& command = chosen(program);
  const std::vector<std::string> left = command.remaining(), left_above = program.remaining(/*recurse=*/true);
  const bool lacks_command = command.get_require_subcommand_min() > 0 && command.get_subcommands().empty();
  if (lacks_command && left_above == left) return about_command(command, left, hint);
  // A word that is not known is often the reason why another one is missing.
  const bool is_missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (is_missing || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    if (!left.empty()) return about_extra_words(command, left);
    return left_above.empty() ? about_missing(command) : about_misplaced_words(command, left_above, words);
  }
  if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr) {
    // What stands in the place of PID may be the value of an option that is not known.
    const std::string option = unknown_option(left);
    return option.empty() ? error.what() : about_option(command, option);
  }
  const std::string pair = about_pair(command);
  return pair.empty() ? about_value(error, command) : pair;
}

std::string with_help(const std::string& sentence, const CLI::App& command) {
  return absl::StrCat(sentence, sentence.ends_with('?') ? " `" : ": `", full_name(command), " --help` ",
                      listed_commands(command).empty() ? "tells more" : "lists all");
}

}  // namespace

std::string sentence_about(const CLI::ParseError& error, const CLI::App& program, const Hint& hint,
                           const std::vector<std::string>& words) {
  return with_help(what_is_wrong(error, program, hint, words), chosen(program));
}

std::string sentence_about_other_words(const CLI::App& program) {
  const CLI::App& command = chosen(program);
  const std::vector<std::string> left = command.remaining();
  return !command.get_prefix_command() || left.empty() || !left[0].starts_with("-")
             ? ""
             : with_help(about_option(command, left[0]), command);
}

}  // namespace castscope::cli

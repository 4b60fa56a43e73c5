#include "server/cli/command_line/help_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "server/report/text/lines.h"

namespace castscope::cli {
namespace {

constexpr int kNames = 30, kWidth = 120;  // columns: where texts begin, and where lines end

// CLI11 indents the lines behind the first.
std::string in_its_column(const std::string& text) {
  std::string lines = report::wrapped("", "", text, kWidth - kNames);
  while (!lines.empty() && lines.back() == '\n') lines.pop_back();
  return lines;
}

}  // namespace

std::string full_name(const CLI::App& command) {
  return command.get_parent() == nullptr ? command.get_name()
                                         : absl::StrCat(full_name(*command.get_parent()), " ", command.get_name());
}

std::string shown_name(const CLI::Option& option) { return option.get_name(option.get_positional()); }

HelpText::HelpText() {
  column_width(kNames);
  label("Positionals", "Arguments");
  label("SUBCOMMAND", "COMMAND");
}

std::string HelpText::make_usage(const CLI::App* command, std::string name) const {
  const auto usage = usages_.find(command);
  if (usage == usages_.end()) return Formatter::make_usage(command, name);
  return absl::StrCat("Usage: ", full_name(*command), " [OPTIONS] ", usage->second, "\n");
}

std::string HelpText::make_option_name(const CLI::Option* option, bool is_argument) const {
  if (is_argument) return option->get_name(true);
  std::vector<std::string> names;
  for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return absl::StrJoin(names, ",");
}

std::string HelpText::make_option_opts(const CLI::Option* option) const {
  if (!option->get_option_text().empty()) return option->get_option_text();  // [=PORT]
  if (option->get_positional() || option->get_type_size() == 0) return "";
  return " " + option->get_type_name();
}

std::string HelpText::make_option_desc(const CLI::Option* option) const {
  std::string text = option->get_description();
  const std::string& value = option->get_default_str();
  if (!value.empty() && option->get_type_size() != 0) absl::StrAppend(&text, " (default: ", value, ")");
  if (!option->get_envname().empty()) absl::StrAppend(&text, " (variable: ", option->get_envname(), ")");
  return in_its_column(text);
}

std::string HelpText::make_footer(const CLI::App* command) const {
  std::string text;
  for (const absl::string_view line : absl::StrSplit(command->get_footer(), '\n')) {
    const std::string kept(line);
    absl::StrAppend(&text, kept.size() <= kWidth ? kept + "\n" : report::wrapped("", "", kept, kWidth));
  }
  return text == "\n" ? "" : text;
}

std::string HelpText::make_subcommand(const CLI::App* command) const {
  const std::string name = "  " + command->get_name();
  const std::string column(kNames, ' ');
  const std::string text = absl::StrReplaceAll(in_its_column(command->get_description()), {{"\n", "\n" + column}});
  const std::string gap = name.size() < column.size() ? column.substr(name.size()) : "\n" + column;
  return absl::StrCat(name, text.empty() ? "" : gap, text, "\n");
}

}  // namespace castscope::cli

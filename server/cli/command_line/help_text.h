// The layout of --help.
#pragma once

#include <CLI/CLI.hpp>

#include <map>
#include <string>

namespace castscope::cli {

// "castscope policy explain": the command's name behind those of the commands that it belongs to.
std::string full_name(const CLI::App& command);

// "--output", or "RUN" for an argument.
std::string shown_name(const CLI::Option& option);

class HelpText final : public CLI::Formatter {
 public:
  HelpText();
  // The command's usage line ends with these words, instead of the names of its arguments.
  void set_usage(const CLI::App* command, std::string words) { usages_[command] = std::move(words); }

  std::string make_usage(const CLI::App* command, std::string name) const override;
  std::string make_option_name(const CLI::Option* option, bool is_argument) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_footer(const CLI::App* command) const override;
  std::string make_subcommand(const CLI::App* command) const override;

 private:
  std::map<const CLI::App*, std::string> usages_;
};

}  // namespace castscope::cli

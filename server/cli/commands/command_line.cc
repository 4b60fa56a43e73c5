#include "server/cli/commands/command_line.h"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace castscope::cli {

Option Option::required() const {
  option_->required();
  return *this;
}

Option Option::one_of(const std::vector<std::string>& values) const {
  option_->check(CLI::IsMember(values));
  return *this;
}

Option Option::range(int least, int most) const {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option Option::existing_file() const {
  option_->check(CLI::ExistingFile);
  return *this;
}

Option Option::given() const {
  return check([](const std::string& value) { return value.empty() ? "its value is empty" : std::string(); });
}

Option Option::check(const std::function<std::string(const std::string&)>& problem_of) const {
  option_->check(problem_of);
  return *this;
}

Option Option::shows_default() const {
  option_->capture_default_str();
  return *this;
}

Option Option::from_variable(const std::string& name) const {
  option_->envname(name);
  return *this;
}

Option Option::needs(const std::string& other) const {
  option_->needs(other);
  return *this;
}

Option Option::excludes(const std::string& other) const {
  option_->excludes(other);
  return *this;
}

Option Command::option(const std::string& names, std::string& target, const std::string& help) const {
  return Option(app_->add_option(names, target, help));
}

Option Command::option(const std::string& names, std::vector<std::string>& target, const std::string& help) const {
  return Option(app_->add_option(names, target, help));
}

Option Command::option(const std::string& names, int& target, const std::string& help) const {
  return Option(app_->add_option(names, target, help));
}

Option Command::flag(const std::string& names, bool& target, const std::string& help) const {
  return Option(app_->add_flag(names, target, help));
}

Option Command::flag(const std::string& names, std::string& target, const std::string& help) const {
  return Option(app_->add_flag(names, target, help));
}

Command Command::subcommand(const std::string& name, const std::string& help) const {
  app_->require_subcommand(1);  // before it is added, since it takes over what counts for this command
  return {app_->add_subcommand(name, help), chosen_};
}

Command Command::hidden() const {
  app_->group("");
  return *this;
}

void Command::footer(const std::string& text) const { app_->footer(text); }

void Command::takes_other_words() const { app_->prefix_command(); }

void Command::on_run(const std::function<int()>& run) const {
  app_->callback([chosen = chosen_, run] { *chosen = run; });
}

std::size_t Command::count(const std::string& name) const { return app_->count(name); }

std::vector<std::string> Command::remaining() const { return app_->remaining(); }

CommandLine::CommandLine(const std::string& program, const std::string& help, const std::string& version)
    : app_(std::make_unique<CLI::App>(help)) {
  app_->name(program);
  app_->set_version_flag("--version", version);
}

CommandLine::~CommandLine() = default;

Command CommandLine::subcommand(const std::string& name, const std::string& help) {
  return Command(app_.get(), &chosen_).subcommand(name, help);
}

void CommandLine::footer(const std::string& text) { app_->footer(text); }

bool CommandLine::knows(const std::string& name) const {
  const auto commands = app_->get_subcommands([](const CLI::App*) { return true; });
  return std::any_of(commands.begin(), commands.end(), [&](const CLI::App* c) { return c->get_name() == name; });
}

ParsedLine CommandLine::parse(std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());  // CLI11 wants them in reverse order
  try {
    app_->parse(words);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return {.wrong = error.what(), .run = nullptr};
    return {.wrong = "", .run = [this, error] { return app_->exit(error); }};  // --help, --version
  }
  return {.wrong = "", .run = chosen_};
}

}  // namespace castscope::cli

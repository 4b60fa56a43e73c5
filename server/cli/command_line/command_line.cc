#include "server/cli/command_line/command_line.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/cli/command_line/help_text.h"
#include "server/cli/command_line/mistakes.h"
#include "server/config/nearest.h"

namespace castscope::cli {

// All commands of a line point to one of these.
struct LineState {
  std::shared_ptr<HelpText> help = std::make_shared<HelpText>();
  std::set<std::string> job_takers;
  std::function<int()> chosen;
  Hint hint = [](const std::string&) { return std::string(); };
};

namespace {

// "-o,--output FILE" without " FILE", which becomes the name of the value.
template <class Target>
CLI::Option* add(CLI::App* app, const std::string& names, Target& target, const std::string& help) {
  const std::size_t end = names.find(' ');
  CLI::Option* option = app->add_option(names.substr(0, end), target, help);
  option->type_name(end == std::string::npos ? "" : names.substr(end + 1));
  if (option->get_snames().empty()) return option;
  // `-o=NAME` would be taken for the value "=NAME".
  return option->check([letter = option->get_snames().front()](const std::string& value) {
    const std::string rest = value.substr(std::min<std::size_t>(1, value.size()));
    return value.starts_with('=') ? absl::StrCat("there is no = behind -", letter, ": write -", letter, " ", rest)
                                  : std::string();
  });
}

bool is_number_from(const std::string& text, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= least && value <= most;
}

}  // namespace

Option Option::required() const {
  option_->required();
  return *this;
}

Option Option::one_of(const std::vector<std::string>& values) const {
  option_->type_name(absl::StrCat("{", absl::StrJoin(values, ","), "}"));
  return check([values](const std::string& value) -> std::string {
    if (std::find(values.begin(), values.end(), value) != values.end()) return "";
    const std::vector<std::string_view> names(values.begin(), values.end());
    return absl::StrCat("\"", value, "\" is not one of ", absl::StrJoin(values, ", "), config::meant(value, names));
  });
}

Option Option::range(int least, int most) const {
  return check([least, most](const std::string& value) -> std::string {
    if (is_number_from(value, least, most)) return "";
    return absl::StrCat("\"", value, "\" is not a whole number from ", least, " to ", most);
  });
}

Option Option::existing_file() const {
  return check([](const std::string& path) -> std::string {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return absl::StrCat(path, " is a folder");
    if (std::filesystem::exists(path, error)) return "";
    // In a folder that may not be searched, the file may be there.
    return error ? absl::StrCat(path, " cannot be read: ", error.message()) : absl::StrCat("there is no file ", path);
  });
}

Option Option::one_at_a_time() const {
  option_->allow_extra_args(false);
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
  return Option(add(app_, names, target, help));
}

Option Command::option(const std::string& names, std::vector<std::string>& target, const std::string& help) const {
  return Option(add(app_, names, target, help));
}

Option Command::option(const std::string& names, int& target, const std::string& help) const {
  return Option(add(app_, names, target, help));
}

Option Command::flag(const std::string& names, bool& target, const std::string& help) const {
  return Option(app_->add_flag(names, target, help)->disable_flag_override());
}

Option Command::flag_with_value(const std::string& name, const std::string& bare, std::string& target,
                                const std::string& help) const {
  const std::size_t end = name.find('=');
  CLI::Option* option = app_->add_flag(absl::StrCat(name.substr(0, end), "{", bare, "}"), target, help);
  return Option(option->option_text(absl::StrCat("[", name.substr(end), "]")));
}

Command Command::subcommand(const std::string& name, const std::string& help) const {
  app_->require_subcommand(1);  // before it is added, since it takes over what counts for this command
  CLI::App* added = app_->add_subcommand(name, help);
  added->group("Commands");
  added->footer("");  // the footer of this command is not its own
  return {added, line_};
}

Option Option::hidden() const {
  option_->group("");
  return *this;
}

Command Command::hidden() const {
  app_->group("");
  return *this;
}

void Command::usage(const std::string& words) const { line_->help->set_usage(app_, words); }

void Command::takes_job(const std::string& words) const {
  usage(words);
  const CLI::App* const group = app_->get_parent();
  const bool is_in_group = group != nullptr && group->get_parent() != nullptr;
  line_->job_takers.insert(is_in_group ? absl::StrCat(group->get_name(), " ", app_->get_name()) : app_->get_name());
}

void Command::footer(const std::string& text) const { app_->footer(text); }

void Command::takes_other_words() const { app_->prefix_command(); }

void Command::on_run(const std::function<int()>& run) const {
  app_->callback([line = line_, run] { line->chosen = run; });
}

std::size_t Command::count(const std::string& name) const { return app_->count(name); }

std::vector<std::string> Command::remaining() const { return app_->remaining(); }

CommandLine::CommandLine(const std::string& program, const std::string& help, const std::string& version)
    : state_(std::make_unique<LineState>()), app_(std::make_unique<CLI::App>(help)) {
  app_->name(program);
  app_->formatter(state_->help);
  app_->set_help_flag("-h,--help", "Print this help");
  app_->set_version_flag("--version", version, "Print castscope's version");
}

CommandLine::~CommandLine() = default;

Command CommandLine::subcommand(const std::string& name, const std::string& help) {
  return Command(app_.get(), state_.get()).subcommand(name, help);
}

void CommandLine::footer(const std::string& text) { app_->footer(text); }

void CommandLine::hint_at_commands(const Hint& hint) { state_->hint = hint; }

void CommandLine::split_off_job(std::vector<std::string>& words) {
  const auto mark = std::find(words.begin(), words.end(), "--");
  if (mark == words.end()) return;
  const std::string second = words.size() > 1 ? words[1] : "";
  if (!state_->job_takers.contains(words[0]) && !state_->job_takers.contains(absl::StrCat(words[0], " ", second)))
    return;
  job.assign(mark + 1, words.end());
  words.erase(mark, words.end());
}

ParsedLine CommandLine::parse(std::vector<std::string> words) {
  split_off_job(words);
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // as CLI11 wants them
  try {
    app_->parse(reversed);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return {.wrong = sentence_about(error, *app_, state_->hint, words), .run = nullptr};
    return {.wrong = "", .run = [this, error] { return app_->exit(error); }};  // --help, --version
  }
  return {.wrong = sentence_about_other_words(*app_), .run = state_->chosen};
}

}  // namespace castscope::cli

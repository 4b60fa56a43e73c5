// What stands on the command line: commands, their options, and which of them were given. The library that reads it is
// known to this folder alone, since every file that includes its templates takes seconds more to compile.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace castscope::cli {

struct LineState;

// An option of a command, of which this is a handle: copies mean the same option.
class Option {
 public:
  Option required() const;
  // An option with several values takes one word each time it is given: "--redact A --redact B".
  Option one_at_a_time() const;
  Option one_of(const std::vector<std::string>& values) const;
  Option range(int least, int most) const;
  Option existing_file() const;
  // The value "" is a mistake: in a script, a variable that is not set.
  Option given() const;
  // `problem_of` returns what is wrong with a value; "" = nothing.
  Option check(const std::function<std::string(const std::string&)>& problem_of) const;
  // --help tells the value that the target has now.
  Option shows_default() const;
  // The environment variable that counts where the option is not given.
  Option from_variable(const std::string& name) const;
  // Other options of the same command, which has them already.
  Option needs(const std::string& other) const;
  Option excludes(const std::string& other) const;
  // --help does not tell of it.
  Option hidden() const;

 private:
  friend class Command;
  explicit Option(CLI::Option* option) : option_(option) {}
  CLI::Option* option_;
};

// A command or one of its subcommands, of which this is a handle: copies mean the same command. It lives as long as its
// CommandLine, and so must the targets of its options; what is given to on_run keeps them.
class Command {
 public:
  // `names` are as in "-o,--output FILE", where --help calls the value FILE; a name without dashes is that of an
  // argument.
  Option option(const std::string& names, std::string& target, const std::string& help) const;
  Option option(const std::string& names, std::vector<std::string>& target, const std::string& help) const;
  Option option(const std::string& names, int& target, const std::string& help) const;
  Option flag(const std::string& names, bool& target, const std::string& help) const;
  // `name` is as in "--live=PORT", and `bare` the value of a --live that is given none.
  Option flag_with_value(const std::string& name, const std::string& bare, std::string& target,
                         const std::string& help) const;

  // A command with subcommands does nothing without one of them.
  Command subcommand(const std::string& name, const std::string& help) const;
  // Neither --help nor a suggestion names this command.
  Command hidden() const;
  // The usage line ends with these words, instead of the names of the arguments.
  void usage(const std::string& words) const;
  // The words behind "--" become the line's job; `words` tell of them in the usage line.
  void takes_job(const std::string& words) const;
  // The text at the end of --help.
  void footer(const std::string& text) const;
  // From the first word on that is not an option, all words are left to remaining().
  void takes_other_words() const;
  // `run` returns the exit status. It is called if the command was chosen.
  void on_run(const std::function<int()>& run) const;

  // How often the option was given.
  std::size_t count(const std::string& name) const;
  std::vector<std::string> remaining() const;

 private:
  friend class CommandLine;
  Command(CLI::App* app, LineState* line) : app_(app), line_(line) {}
  CLI::App* app_;
  LineState* line_;
};

// The result of reading a command line.
struct ParsedLine {
  std::string wrong;         // a sentence about what is wrong with it; "" = nothing
  std::function<int()> run;  // what it asks for, --help and --version too; returns the exit status
};

class CommandLine {
 public:
  // `version` is what --version prints.
  CommandLine(const std::string& program, const std::string& help, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Command subcommand(const std::string& name, const std::string& help);
  void footer(const std::string& text);
  // `hint` returns what to say of a word that stands in a command's place, and resembles no command: "; …", or "".
  void hint_at_commands(const std::function<std::string(const std::string& word)>& hint);
  // `words` are those behind the program's name.
  ParsedLine parse(std::vector<std::string> words);

  // The words behind the first "--" of a command that takes a job. In other commands, "--" means what it means
  // everywhere: there are no options behind it.
  std::vector<std::string> job;

 private:
  void split_off_job(std::vector<std::string>& words);

  std::unique_ptr<LineState> state_;
  std::unique_ptr<CLI::App> app_;
};

}  // namespace castscope::cli

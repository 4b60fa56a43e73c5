#include "server/cli/commands/exit_statuses.h"

#include <algorithm>

#include "server/report/text/lines.h"

namespace castscope::cli {
namespace {

struct Meaning {
  std::string_view command, status, text;
};

constexpr std::string_view kWrongUsage = "the command line is wrong";
constexpr std::string_view kWrongUsageOfReader =
    "the command line, castscope.json or a policy is wrong, or an output cannot be written";

// tests/integration/test_exit_statuses.py compares docs/exit-statuses.md with these.
constexpr Meaning kMeanings[] = {
    {"run", "the job's", "the job has run; when a signal ends the job, the same signal ends castscope"},
    {"run", "125",
     "the job was not started: the command line, a policy or a named castscope.json is wrong, the output exists "
     "already, "
     "or the policy of --enforce cannot be carried out. A process of the job that cannot carry it out ends with 125, "
     "too"},
    {"run", "126", "the job's command cannot be started"},
    {"run", "127", "there is no such command"},

    {"attach", "0", "the process is watched"},
    {"attach", "1", "it has not used autocast within the time of --wait: it is watched from there on"},
    {"attach", "2",
     "the command line is wrong, there is no such process, castscope comes in only with --gdb, or the job is recorded "
     "already and takes no -o, --force or --stay"},
    {"attach", "3", "the process cannot be watched or has ended meanwhile, or nobody who records the run answers"},

    {"detach", "0", "the process is not watched any more"},
    {"detach", "1", "it has not left its region within the time of --wait: it is let go of there"},
    {"detach", "2", "the command line is wrong, or castscope is not in that process"},
    {"detach", "3", "the process carries out a policy or has ended meanwhile, or nobody who records the run answers"},

    {"deep", "0", "the steps were begun"},
    {"deep", "1", "they were not, within the time of --wait: they come as the job goes on"},
    {"deep", "2", "the command line is wrong, or castscope is not in that process"},
    {"deep", "3", "the process has ended meanwhile, or nobody who records the run answers"},

    {"report", "0", "the report was written"},
    {"report", "2", kWrongUsageOfReader},
    {"report", "3", "the run file cannot be read, or it is damaged or cut short: what can be read of it is reported"},

    {"check", "0", "clean"},
    {"check", "1", "there are findings of --fail-on or higher, or a limit is exceeded"},
    {"check", "2", kWrongUsageOfReader},
    {"check", "3",
     "a file cannot be read, is damaged or cut short. Or nothing was found and the data are incomplete: not all of the "
     "run was seen, nothing was observed, the job failed, a limit cannot be measured, nothing was observed in the "
     "run of the baseline, or that run may have missed such findings, since not all of it was recorded or its job "
     "failed (--allow-incomplete lets such data pass). With --require-deep also when a rule could not judge all of the "
     "run, or of the baseline's (rules that judged a sample of the steps pass)"},

    {"compare", "0", "the precision is the same in every mode"},
    {"compare", "1", "precisions differ, or a mode refused the code"},
    {"compare", "2",
     "the command line is wrong, there is no such script, the Python has no PyTorch, or an output cannot be written"},
    {"compare", "3", "the script failed, or could not be started, or no operator was observed in what it compares"},

    {"diff", "0", "the runs were compared; with --exit-code: nothing but times differs"},
    {"diff", "1", "with --exit-code: something differs"},
    {"diff", "2", kWrongUsageOfReader},
    {"diff", "3",
     "a file cannot be read, is damaged or cut short; with --exit-code also when the runs cannot be compared for sure, "
     "whatever differs: in one of the runs nothing was observed, or not everything was seen, or the job failed, or the "
     "other run found something that this one may have missed"},

    {"policy check", "0", "every policy is understood"},
    {"policy check", "2", "the command line or a policy is wrong"},
    {"policy check", "3", "a file cannot be read"},

    {"policy explain", "0", "the operator or function was explained"},
    {"policy explain", "2", "the command line or a policy is wrong, or there is no such operator or function"},
    {"policy explain", "3", "a file cannot be read"},

    {"policy diff", "0", "the policies were compared; with --exit-code: they decide the same"},
    {"policy diff", "1", "with --exit-code: they differ"},
    {"policy diff", "2", "the command line or a policy is wrong"},
    {"policy diff", "3", "a file cannot be read"},

    {"policy from-run", "0", "the policy was written"},
    {"policy from-run", "2", "the command line is wrong, or an output cannot be written"},
    {"policy from-run", "3", "the run file cannot be read, is damaged or cut short, or shows nothing of autocast"},

    {"policy list", "0", "the policies were listed"},
    {"policy list", "2", kWrongUsage},

    {"rules", "0", "the rules were listed, or the rule was explained"},
    {"rules", "2", "the command line is wrong, or there is no such rule"},
    {"explain", "0", "the words or the rule were explained"},
    {"explain", "2", "the command line is wrong, or there is no such rule"},

    {"recover", "0", "the runs that are left over were listed; or all runs that you named were recovered, or deleted"},
    {"recover", "2", "the command line is wrong, or an output cannot be written"},
    {"recover", "3",
     "a run that you named cannot be recovered or deleted: it is no run directory, it is still being recorded, or "
     "(with --discard) its job still runs. Or a collector did not take what it was sent, or is not known to be the one "
     "that the token was given for. Or no run file can be made from what is left, or not all of the run was "
     "seen"},

    {"view", "0", "it ended by Ctrl-C"},
    {"view", "2", "the command line, castscope.json or a policy is wrong, or the port is taken"},
    {"view", "3", "a run file cannot be read, or it is damaged or cut short: what can be read of it is shown"},

    {"serve", "0", "it ended by SIGINT or SIGTERM; with --check-config: the settings can be used"},
    {"serve", "2",
     "the command line or the settings are wrong, the folder cannot be written or is another collector's, or an "
     "address "
     "cannot be used"},

    {"token", "0", "the token was made"},
    {"token", "2", "the command line is wrong, or the token's file cannot be written"},

    {"env", "0", "the variables were printed"},
    {"env", "2", "the command line or a policy is wrong, or a value cannot be printed in the form that is asked for"},
    {"env", "3", "the preload library cannot be put in place, or does not load: jobs would run unobserved"},

    {"notebook install", "0", "the kernel was made"},
    {"notebook install", "2",
     "the command line is wrong, the Python has no ipykernel, or the kernel cannot be written"},
    {"notebook install", "3", "the kernel was made, and would run unobserved: the agent cannot be made"},

    {"doctor", "0", "jobs can be observed here"},
    {"doctor", "1", "something has to be fixed before a job can be observed"},
    {"doctor", "2", kWrongUsage},

    {"schema", "0", "the schema was printed, or the schemas were listed"},
    {"schema", "2", "the command line is wrong, or there is no such schema"},

    {"version", "0", "the version was printed"},
    {"version", "2", kWrongUsage},
};

constexpr int kWidth = 120;

}  // namespace

std::string exit_statuses_of(std::string_view command) {
  std::size_t longest = 0;
  for (const Meaning& one : kMeanings)
    if (one.command == command) longest = std::max(longest, one.status.size());
  std::string text = "Exit status:\n";
  for (const Meaning& one : kMeanings) {
    if (one.command != command) continue;
    std::string begin = "  " + std::string(one.status);
    begin.resize(longest + 4, ' ');
    text += report::wrapped(begin, std::string(begin.size(), ' '), one.text, kWidth);
  }
  while (text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace castscope::cli

// castscope schema: prints the JSON Schemas of what castscope reads and writes, and the description of the viewer's
// API.
#include <algorithm>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/exit_statuses.h"
#include "server/cli/commands/fail.h"
#include "server/cli/commands/summary.h"
#include "server/config/nearest.h"
#include "server/report/text/lines.h"

// cmake/EmbedSources.cmake writes these into an assembler file: name, begin and end of each file, ended by a null.
extern "C" {
struct castscope_schema_file {
  const char* path;
  const char* begin;
  const char* end;
};
extern const castscope_schema_file castscope_schema_files[];
}

namespace castscope::cli {
namespace {

struct Schema {
  std::string_view name, path, meaning;
};

// CMake embeds docs/*.schema.json, policies/*.schema.json and docs/openapi.json: a further schema is one line here.
constexpr Schema kSchemas[] = {
    {"check", "docs/check.schema.json", "the JSON of `castscope check`"},
    {"compare", "docs/compare.schema.json", "the JSON of `castscope compare`, and of to_json()"},
    {"counts", "docs/counts.schema.json", "what the plugin for pytest is told of a process's casts"},
    {"diff", "docs/diff.schema.json", "the JSON of `castscope diff`"},
    {"doctor", "docs/doctor.schema.json", "the JSON of `castscope doctor`"},
    {"openapi", "docs/openapi.json", "the API of `castscope view` and `serve --web`, as OpenAPI"},
    {"policy", "policies/policy.schema.json", "a policy file"},
    {"policy-check", "docs/policy-check.schema.json", "the JSON of `castscope policy check`"},
    {"policy-diff", "docs/policy-diff.schema.json", "the JSON of `castscope policy diff`"},
    {"policy-explain", "docs/policy-explain.schema.json", "the JSON of `castscope policy explain`"},
    {"policy-list", "docs/policy-list.schema.json", "the JSON of `castscope policy list`"},
    {"report", "docs/report.schema.json", "the JSON report of a run (`castscope report`)"},
    {"rules", "docs/rules.schema.json", "the JSON of `castscope rules`"},
    {"serve", "docs/serve.schema.json", "the settings of `castscope serve --config`"},
    {"settings", "docs/castscope.schema.json", "the rules' settings, castscope.json"},
    {"tokens", "docs/tokens.schema.json", "the tokens of `castscope serve --tokens`"},
};

std::string_view text_of(const Schema& schema) {
  for (const auto* file = castscope_schema_files; file->path != nullptr; ++file) {
    if (file->path == schema.path) return {file->begin, static_cast<std::size_t>(file->end - file->begin)};
  }
  return "";
}

int list() {
  std::string text;
  for (const Schema& one : kSchemas) {
    std::string name(one.name);
    name.resize(16, ' ');
    text += report::wrapped(name, std::string(16, ' '), one.meaning, terminal_width(1));
  }
  return put(text) ? 0 : kUsage;
}

int print(const std::string& name) {
  const auto* const schema =
      std::find_if(std::begin(kSchemas), std::end(kSchemas), [&](const Schema& one) { return one.name == name; });
  if (schema != std::end(kSchemas)) return put(std::string(text_of(*schema))) ? 0 : kUsage;
  std::vector<std::string_view> names;
  for (const Schema& one : kSchemas) names.push_back(one.name);
  const std::string meant = config::meant(name, names);
  return fail(absl::StrCat("there is no schema \"", name, "\"", meant, meant.empty() ? ": " : " ",
                           "`castscope schema` lists all"),
              kUsage);
}

}  // namespace

void add_schema(CommandLine& line) {
  const Command command =
      line.subcommand("schema", "Print the schema of a JSON document, a settings file, a policy or the API");
  auto name = std::make_shared<std::string>();
  command.option("SCHEMA", *name, "The schema to print; without it, all are listed").given();
  command.footer(
      absl::StrCat("Examples:\n"
                   "  castscope schema\n"
                   "  castscope schema report > report.schema.json\n\n",
                   exit_statuses_of("schema")));
  command.on_run([name] { return name->empty() ? list() : print(*name); });
}

}  // namespace castscope::cli

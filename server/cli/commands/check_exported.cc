#include "server/cli/commands/check_exported.h"

#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/fail.h"
#include "server/cli/commands/settings_file.h"
#include "server/cli/commands/summary.h"
#include "server/cli/job/proc.h"
#include "server/cli/recording/conclusion.h"
#include "server/exported/check.h"
#include "server/exported/program/package_reader.h"
#include "server/exported/program/zip_archive.h"
#include "server/report/text/words.h"

namespace castscope::cli {
bool is_exported(const std::string& file) {
  std::error_code error;
  return exported::is_zip(file) || (file.ends_with(".pt2") && std::filesystem::is_regular_file(file, error));
}

int check_exported(const ExportedCheck& options) {
  if (options.gate.max_cast_share || options.gate.max_cache_bytes)
    return fail("--max-cast-share and --max-cache need a run: what casts cost is measured when a program runs", kUsage);
  const auto settings = settings_here(options.config);
  if (!settings.ok()) return fail(std::string(settings.status().message()), kUsage);
  const auto package = exported::read_package(options.file);
  if (!package.ok()) return fail(std::string(package.status().message()), kIncompleteData);
  const std::string folder = working_folder(), checkout = checkout_of(folder);
  const exported::Checked checked = exported::check(*package, *settings, checkout.empty() ? folder : checkout,
                                                    options.gate, terminal_width(STDOUT_FILENO));
  const std::string json = checked.json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  if (!options.json_file.empty()) {
    if (absl::Status written = write_text_file(options.json_file, json); !written.ok())
      return fail(std::string(written.message()), kUsage);
  }
  if (!put(options.format == "json" ? json : checked.text)) return kUsage;
  return static_cast<int>(checked.verdict.outcome);
}

}  // namespace castscope::cli

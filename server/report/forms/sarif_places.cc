#include "server/report/forms/sarif_places.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

#include "absl/strings/str_replace.h"
#include "server/rules/evidence/places/places.h"
#include "server/utf8/utf8.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

std::string encoded(std::string_view path) {
  std::string uri;
  for (const char c : path) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || std::string_view("-._~/").find(c) != path.npos;
    if (plain) {
      uri += c;
    } else {
      char code[4];
      std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(c));
      uri += code;
    }
  }
  return uri;
}

Json artifact(const std::string& project, const std::string& file) {
  const auto [uri, relative] = uri_of(project, file);
  if (relative) return {{"uri", uri}, {"uriBaseId", kSarifRoot}};
  return {{"uri", uri}};
}

// Finds a file of the checkout that ends with one of `endings` and of which a line was seen; "" = none.
std::string seen_file(const store::RunData& run, std::span<const std::string> endings) {
  for (const store::Stack& stack : run.stacks) {
    for (const store::CodeLocation& frame : stack.frames) {
      const bool ends = std::any_of(endings.begin(), endings.end(),
                                    [&](const std::string& ending) { return frame.file.ends_with(ending); });
      if (ends && uri_of(run.start.project(), frame.file).second && frame.file.find("-packages/") == std::string::npos)
        return frame.file;
    }
  }
  return "";
}

}  // namespace

std::string folder_uri(const std::string& folder) {
  return "file://" + encoded(folder) + (folder.ends_with("/") ? "" : "/");
}

std::pair<std::string, bool> uri_of(const std::string& project, const std::string& name) {
  const std::string file = utf8::bytes_of_name(rules::plain_path(name));
  const std::string folder = project.ends_with("/") ? project : project + "/";
  if (file.starts_with(folder)) return {encoded(std::string_view(file).substr(folder.size())), true};
  if (file.starts_with("/")) return {"file://" + encoded(file), false};
  return {encoded(file), true};  // as the job was given it
}

Json sarif_location(const std::string& project, const store::SourceLines* source, const store::CodeLocation& at) {
  Json region = {{"startLine", std::max<std::int64_t>(at.line, 1)}};
  if (const auto text = source == nullptr ? std::nullopt : source->line(at.file, at.line))
    region["snippet"] = {{"text", *text}};
  Json place = {{"physicalLocation", {{"artifactLocation", artifact(project, at.file)}, {"region", region}}}};
  if (!at.function.empty()) place["logicalLocations"] = Json::array({{{"name", at.function}, {"kind", "function"}}});
  return place;
}

bool has_file(const std::optional<store::CodeLocation>& at) { return at && !at->file.empty() && at->file[0] != '<'; }

std::optional<store::CodeLocation> stand_in(const store::RunData& run) {
  const std::vector<std::string>& words = run.start.command;
  std::string file;
  bool is_module = false;  // then a word that ends in .py may be an argument of it
  for (std::size_t i = 0; i < words.size() && file.empty() && words[i] != "-c"; ++i) {
    if (words[i] == "-m" && !is_module && i + 1 < words.size()) {
      is_module = true;
      const std::string path = absl::StrReplaceAll(words[++i], {{".", "/"}});
      file = seen_file(run, std::vector<std::string>{"/" + path + ".py", "/" + path + "/__main__.py"});
    } else if (words[i].ends_with(".py")) {
      file = words[i].starts_with("/") || run.start.cwd.empty() ? words[i] : run.start.cwd + "/" + words[i];
      if (is_module) file = seen_file(run, std::span(&file, 1));
    }
  }
  if (file.empty()) return std::nullopt;
  return store::CodeLocation{.file = file, .function = "", .line = 1};
}

}  // namespace castscope::report

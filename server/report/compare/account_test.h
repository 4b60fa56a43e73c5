// For tests of accounts: a small report, and the account of it.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/report/compare/account.h"

namespace castscope::report {

using Json = nlohmann::ordered_json;

inline Json finding(const char* rule, const char* severity, int line) {
  return {{"rule", rule},
          {"severity", severity},
          {"title", "it happens"},
          {"fix", "Mend it."},
          {"location", {{"file", "train.py"}, {"line", line}, {"function", "train"}}}};
}

inline Json report() {
  const Json site = {{"stack_index", 0},    {"call_site_index", 0},    {"phase", "forward"},
                     {"cause", "autocast"}, {"from_dtype", "float32"}, {"to_dtype", "bfloat16"},
                     {"casts", 3},          {"cache_hits", 1},         {"bytes", 100},
                     {"cpu_ns", 50}};
  Json placeless = site;
  placeless.erase("stack_index");
  placeless.erase("cache_hits");
  placeless["call_site_index"] = 1;
  return {{"format", 2},
          {"root", "/job"},
          {"run",
           {{"command", {"python", "train.py"}},
            {"cwd", "/job"},
            {"exit_status", 0},
            {"complete", true},
            {"observed", true},
            {"notices", {"a notice"}}}},
          {"totals",
           {{"casts", 6}, {"cache_hits", 2}, {"pass_throughs", 4}, {"bytes", 200}, {"cpu_ns", 100}, {"step_count", 2}}},
          {"cache", {{"cache_peak_bytes", 10}, {"cache_peak_entries", 1}}},
          {"processes", Json::array({Json::object()})},
          {"step_runs", {{{"begin_ns", 100}, {"end_ns", 400}}, {{"begin_ns", 0}, {"end_ns", 200}}}},
          {"coverage",
           {{"new_code_left_out", 0},
            {"first_step_not_looked_at", nullptr},
            {"rules", {{{"rule", "cache-grows"}, {"judged", "full"}, {"because", nullptr}}}}}},
          {"ignored", {{"by_settings", 1}, {"in_code", 2}}},
          {"findings", {finding("cache-grows", "warning", 8), finding("cache-never-cleared", "warning", 9)}},
          {"frames", Json::array({{{"file", "train.py"}, {"line", 8}, {"function", "train"}}})},
          {"stacks", Json::array({{{"frame_index", 0}}})},
          {"call_sites",
           {{{"operator", "aten::linear"}, {"argument", "weight"}}, {{"operator", nullptr}, {"argument", "weight"}}}},
          {"sites", {site, placeless}},
          {"weight_products", Json::array()},
          {"source_files",
           {{{"file", "train.py"},
             {"source_state", "kept"},
             {"source_lines", {{{"line", 8}, {"source_text", "  y =  f(x)"}}}}}}}};
}

inline Account read(const Json& json, const rules::Settings& settings = {}) {
  const auto account = account_of(json, "run.json", settings);
  EXPECT_TRUE(account.ok()) << account.status().message();
  return account.ok() ? *account : Account();
}

}  // namespace castscope::report

// Reports in JSON, as `castscope check --baseline` and `castscope diff` take them from anybody
// (server/report/compare/account.h).
#include <nlohmann/json.hpp>
#include <string>

#include "server/report/compare/difference.h"
#include "server/report/compare/gate.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/scratch.h"

namespace castscope::fuzz {
namespace {

const report::Account& account_without_findings() {
  static const auto* const account = [] {
    auto* empty = new report::Account;
    empty->name = "now.json", empty->complete = true, empty->processes = 1;
    return empty;
  }();
  return *account;
}

void hold_against(const report::Account& account, const report::Account& baseline) {
  const report::Gate gate{.max_cast_share = 0.1, .max_cache_bytes = 1000};
  const report::Verdict verdict = report::examine(account, gate, &baseline);
  CASTSCOPE_PROMISE(verdict.failing.size() + verdict.below.size() + verdict.known.size() <= account.findings.size(),
                    "a finding is judged once");
  const auto json = report::verdict_json(account, gate, verdict, &baseline);
  (void)json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::strict);
  CASTSCOPE_PROMISE(!report::verdict_text(account, gate, verdict, &baseline, {}).empty(), "a verdict has a text");
}

}  // namespace

CASTSCOPE_FUZZER(report, 2000, 16384) {
  const std::string path = scratch_file("baseline.json", input);
  const auto account = report::read_account(path, {});
  if (!account.ok()) {
    CASTSCOPE_PROMISE(sentence_of(account.status()).starts_with(path), "a complaint names the file");
    return;
  }
  CASTSCOPE_PROMISE(account->fingerprints.size() == account->findings.size(), "each finding has a fingerprint");
  hold_against(*account, account_without_findings());
  hold_against(account_without_findings(), *account);
  hold_against(*account, *account);
}

}  // namespace castscope::fuzz

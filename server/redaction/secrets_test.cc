#include "server/redaction/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/redaction/redaction.h"

namespace castscope::redaction {
namespace {

using ::testing::ElementsAre;
using Words = std::vector<std::string>;

std::string without_secrets(const std::string& text) { return Redaction().text(text); }

// The words stand between bars, so that one may have blanks in it.
Words words_of(const std::string& command) { return absl::StrSplit(command, '|'); }
std::string hidden_in(const std::string& command) { return absl::StrJoin(Redaction().command(words_of(command)), "|"); }

const std::string kHex = "0123456789abcdef0123456789abcdef01234567";
const std::string kRest = "abcdefghijABCDEFGHIJ0123456789abcdef";

TEST(SecretsTest, WhatIsASecretIsHiddenAndNothingElse) {
  const std::pair<std::string, std::string> cases[] = {
      {"python|t.py|--api-key|k 1|--password=p w|--lr|3",
       "python|t.py|--api-key|[redacted]|--password=[redacted]|--lr|3"},
      {"env|HF_TOKEN=x|python|wandb.api_key=y|--DB-Passwd|z",
       "env|HF_TOKEN=[redacted]|python|wandb.api_key=[redacted]|--DB-Passwd|[redacted]"},
      {"t|--pass|x|--lr|3", "t|--pass|[redacted]|--lr|3"},
      {"t|--pass=x|--pw|y|-pw|z|--pw=q", "t|--pass=[redacted]|--pw|[redacted]|-pw|[redacted]|--pw=[redacted]"},
      {"t|--db-pass|x|DB_PASS=y|SSHPASS=z|MYSQL_PWD=q",
       "t|--db-pass|[redacted]|DB_PASS=[redacted]|SSHPASS=[redacted]|MYSQL_PWD=[redacted]"},
      {"t|--cookie|a=b; c=d|--jwt|x|--oauth2-bearer|y",
       "t|--cookie|[redacted]|--jwt|[redacted]|--oauth2-bearer|[redacted]"},
      {"t|--token|-x|y", "t|--token|[redacted]|y"},
      {"t|--use-token|--password|hunter2|x", "t|--use-token|[redacted]|[redacted]|x"},
      {"t|pad_token=a,api_token=b", "t|pad_token=a,api_token=[redacted]"},
      {"t|OTEL_HEADERS=Authorization=Basic dTpw", "t|OTEL_HEADERS=Authorization=Basic [redacted]"},
      {"t|--json|{\"authorization\": \"Bearer x\"}", "t|--json|{\"authorization\": \"Bearer [redacted]"},
      // headers
      {"curl|-H|Authorization: Bearer X|url", "curl|-H|Authorization: Bearer [redacted]|url"},
      {"curl|-H|authorization: X|url", "curl|-H|authorization: [redacted]|url"},
      {"curl|-HX-Api-Key: X|url", "curl|-HX-Api-Key: [redacted]|url"},
      {"curl|--header=X-Auth-Token:X|url", "curl|--header=X-Auth-Token:[redacted]|url"},
      {"curl|--header|Cookie: a=b; c=d|url", "curl|--header|Cookie: [redacted]|url"},
      {"curl|-H|PRIVATE-TOKEN: X|-H|api-key: Y", "curl|-H|PRIVATE-TOKEN: [redacted]|-H|api-key: [redacted]"},
      {"t|--auth|Bearer " + kRest + "|--lr|3", "t|--auth|Bearer [redacted]|--lr|3"},
      {"bash|-c|curl -H 'Authorization: Bearer X' -s url", "bash|-c|curl -H 'Authorization: Bearer [redacted] -s url"},
      // options of programs
      {"curl|-u|me:p:w|url", "curl|-u|me:[redacted]|url"},
      {"/usr/bin/curl|-sSu|me:pw|-Ume:pw|--user|me:pw|url",
       "/usr/bin/curl|-sSu|me:[redacted]|-Ume:[redacted]|--user|me:[redacted]|url"},
      {"curl|-b|a=b|url", "curl|-b|[redacted]|url"},
      {"mysql|-u|root|-psecret|db", "mysql|-u|root|-p[redacted]|db"},
      {"sshpass|-p|secret|ssh|-p|22|host", "sshpass|-p|[redacted]|ssh|-p|22|host"},
      {"sshpass|-psecret|ssh|-p22", "sshpass|-p[redacted]|ssh|-p22"},
      {"redis-cli|-a|secret|get|x", "redis-cli|-a|[redacted]|get|x"},
      {"wandb|login|--relogin|" + kHex, "wandb|login|--relogin|[redacted]"},
      {"python|-m|wandb|login|" + kHex, "python|-m|wandb|login|[redacted]"},
      {"WANDB_API_KEY=" + kHex + "|t", "WANDB_API_KEY=[redacted]|t"},
      {"docker|login|-u|me|-p|secret|host", "docker|login|-u|me|-p|[redacted]|host"},
      {"bash|-c|curl -u me:pw -s url", "bash|-c|curl -u me:[redacted] -s url"},
      // addresses
      {"git|clone|https://me:pa55@host/repo", "git|clone|https://me:[redacted]@host/repo"},
      {"t|redis://:p@ss@host:6379/0", "t|redis://:[redacted]@host:6379/0"},
      {"t|https://host/f?token=x", "t|https://host/f?token=[redacted]"},
  };
  for (const auto& [command, hidden] : cases) EXPECT_EQ(hidden_in(command), hidden);
}

TEST(SecretsTest, WhatOnlyLooksLikeOneStays) {
  for (const std::string command :
       {"t|--pass-through|x|--single-pass|y|--bypass|z|--passes=3|two.pass=1",
        "t|--password-file|F|--token-file=G",
        "t|--token-count|3|--tokens|4096|--num-tokens|128|--tokens=3|--max-tokens|512",
        "t|--tokenizer|bert|--tokenizer=bpe",
        "t|--max-token|512|--pad-token|<pad>|--eos_token=</s>|model.bos_token=<s>|--n-token=3|--mask-token|[MASK]",
        "t|--secretary|x|--key|name|--keys=3|--cookie-jar|F|--cookies|F|--jwt-file=F",
        "t|--pwd|/work|PWD=/work|OLDPWD=/",
        "ssh|-p|22|host",
        "t|-p|8080|-p8080",
        "docker|run|-p|8080:80|-u|1000:1000|--user|1000:1000|image",
        "mysql|-p|db|-P3306|--port|3306",
        "curl|-u|me|-b|jar|https://host:80/a@b|-o|x",
        "t|-u|a:b|--user|a:b",
        "python|-u|t.py",
        "wandb|login|--host|https://api.wandb.ai",
        "wandb|sync|run",
        "sshpass|-f|F|ssh|-p|22",
        "git|checkout|0123456789abcdef0123456789abcdef01234567",
        "t|--shape|n:3",
        "t|Note: x|x-axis: y|Bearer of news"})
    EXPECT_EQ(hidden_in(command), command);
  EXPECT_EQ(without_secrets("t.py --max-tokens 512 --token-file f"), "t.py --max-tokens 512 --token-file f");
  EXPECT_EQ(without_secrets("Unexpected token: 'x' at 3"), "Unexpected token: 'x' at 3");
}

// A line has blanks between its words, and maybe in them.
TEST(SecretsTest, AValueInALineEndsWhereTheNextOptionBegins) {
  const std::pair<std::string, std::string> cases[] = {
      {"python t.py --password my pass word --lr 3", "python t.py --password [redacted] --lr 3"},
      {"t.py db.password=a b model.lr=3", "t.py db.password=[redacted] model.lr=3"},
      {R"(t.py {"api_key": "abc"} --x)", R"(t.py {"api_key": [redacted] --x)"},
      {"t.py --password hun=ter2 --lr 3", "t.py --password [redacted] --lr 3"},
      {"t.py --password -hunter --lr 3", "t.py --password [redacted] --lr 3"},
      {"t.py --use-token --password hunter2 --lr 3", "t.py --use-token [redacted] [redacted] --lr 3"},
      {"t.py --eos-token a b", "t.py --eos-token a b"},
      {"curl -H Cookie: a=b; c=d -s", "curl -H Cookie: [redacted] -s"},
      {"curl -u me:pw -s", "curl -u me:[redacted] -s"},
      {"mysql -ptoken -u root", "mysql -p[redacted] -u root"},
  };
  for (const auto& [line, hidden] : cases) EXPECT_EQ(without_secrets(line), hidden);
}

TEST(SecretsTest, TokensAreKnownByTheirForm) {
  for (const std::string& token :
       {"hf_" + kRest, "ghp_" + kRest, "github_pat_" + kRest, "glpat-" + kRest, "npm_" + kRest, "pypi-" + kRest + kRest,
        std::string("AKIAABCDEFGHIJKLMNOP"), "AIza" + kRest.substr(1), "sk-proj-" + kRest, "xoxb-" + kRest,
        "xapp-" + kRest, "sk_live_" + kRest, "wandb_v1_" + kRest,
        "eyJhbGciOiJIUzI1NiJ9." + ("eyJzdWIiOiIxIn0." + kRest)}) {
    EXPECT_EQ(Redaction().source("login(\"" + token + "\")"), "login(\"[redacted]\")");
    EXPECT_EQ(without_secrets(token), "[redacted]");
  }
  EXPECT_EQ(without_secrets("npm_config_cache=/x hf_transfer eyJhbGci.x"),
            "npm_config_cache=/x hf_transfer eyJhbGci.x");
  EXPECT_EQ(Redaction().source("get(h='Bearer " + kRest + "')"), "get(h='Bearer [redacted]')");
  EXPECT_EQ(Redaction().source("x = f(token=token, api_key=key)"), "x = f(token=token, api_key=key)");
}

}  // namespace
}  // namespace castscope::redaction

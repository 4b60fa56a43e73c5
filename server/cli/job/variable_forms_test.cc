#include "server/cli/job/variable_forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace castscope::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

const Variables kTwo = {{"LD_PRELOAD", "/c/libcastscope.so"}, {"CASTSCOPE_OUT", "/out/it's"}};
const std::vector<Mount> kMounts = {{"/c", "/c"}, {"/out", "/out", true}};

std::string text(VariableForm form, const Variables& variables = kTwo, const std::vector<Mount>& mounts = kMounts) {
  const auto result = in_form(form, variables, mounts);
  return result.ok() ? *result : std::string(result.status().message());
}

TEST(VariableForms, AShellEvaluatesThem) {
  EXPECT_EQ(text(VariableForm::kShell),
            "export LD_PRELOAD='/c/libcastscope.so'\nexport CASTSCOPE_OUT='/out/it'\\''s'\n");
  EXPECT_EQ(text(VariableForm::kPlain), "LD_PRELOAD=/c/libcastscope.so\nCASTSCOPE_OUT=/out/it's\n");
  EXPECT_THAT(text(VariableForm::kPlain, {{"A", "b c"}}), HasSubstr("a shell would split or change A=b c"));
}

TEST(VariableForms, DockerTakesOneWordForEach) {
  EXPECT_EQ(
      text(VariableForm::kDocker),
      "--volume=/c:/c:ro\n--volume=/out:/out\n--env=LD_PRELOAD=/c/libcastscope.so\n--env=CASTSCOPE_OUT=/out/it's\n");
  EXPECT_THAT(text(VariableForm::kDocker, {}, {{"/a b", "/a b"}}), HasSubstr("choose a folder without blanks"));
  EXPECT_THAT(text(VariableForm::kDocker, {}, {{"/a:b", "/a:b"}}), HasSubstr("choose a folder without colon"));
}

TEST(VariableForms, ApptainerIsToldByItsOwnVariables) {
  EXPECT_EQ(text(VariableForm::kApptainer),
            "export APPTAINER_BIND='/c:/c:ro,/out:/out'\nexport APPTAINERENV_LD_PRELOAD='/c/libcastscope.so'\n"
            "export APPTAINERENV_CASTSCOPE_OUT='/out/it'\\''s'\n");
}

TEST(VariableForms, KubernetesTakesThreeLists) {
  EXPECT_EQ(text(VariableForm::kKubernetes), R"(# In the container:
env:
- name: LD_PRELOAD
  value: "/c/libcastscope.so"
- name: CASTSCOPE_OUT
  value: "/out/it's"
volumeMounts:
- name: castscope-1
  mountPath: "/c"
  readOnly: true
- name: castscope-2
  mountPath: "/out"
# In the pod's spec; each node must have these paths:
volumes:
- name: castscope-1
  hostPath:
    path: "/c"
- name: castscope-2
  hostPath:
    path: "/out"
)");
}

TEST(VariableForms, SlurmSeparatesByCommas) {
  EXPECT_EQ(text(VariableForm::kSlurm, {{"A", "1"}, {"B", "x:y"}}), "--export=ALL,A=1,B=x:y\n");
  EXPECT_THAT(text(VariableForm::kSlurm, {{"A", "1,2"}}), HasSubstr("--export would split or change A=1,2"));
}

TEST(VariableForms, RayTakesJson) {
  const auto json = nlohmann::json::parse(text(VariableForm::kRay));
  EXPECT_EQ(json["env_vars"]["CASTSCOPE_OUT"], "/out/it's");
  EXPECT_EQ(json["env_vars"].size(), 2u);
}

TEST(VariableForms, AContainerHasNothingOfThisMachineButWhatIsMounted) {
  const ForContainer made = for_container({{"LD_PRELOAD", "/usr/lib/other.so:/c/1/libcastscope.so"},
                                           {"CASTSCOPE_BIN", "/home/me/castscope"},
                                           {"CASTSCOPE_AGENTS", "/mine:/c/1:/c/1/needs-x"},
                                           {"PYTHONPATH", "/c/1/src/agent/python/lending:/home/me/lib"}},
                                          "/c/1", "/home/me/castscope", "/out");
  EXPECT_THAT(made.variables,
              ElementsAre(Pair("LD_PRELOAD", "/c/1/libcastscope.so"), Pair("CASTSCOPE_BIN", "/usr/local/bin/castscope"),
                          Pair("CASTSCOPE_AGENTS", "/mine:/c/1:/c/1/needs-x"),
                          Pair("PYTHONPATH", "/c/1/src/agent/python/lending")));
  EXPECT_THAT(made.mounts, ElementsAre(Mount{"/home/me/castscope", "/usr/local/bin/castscope"},
                                       Mount{"/out", "/out", true}, Mount{"/c/1", "/c/1"}, Mount{"/mine", "/mine"}));
}

TEST(VariableForms, FilesForACollectorAreMounted) {
  const ForContainer made = for_container({{"CASTSCOPE_TOKEN_FILE", "/home/me/token"}, {"CASTSCOPE_CA", "/etc/ca.pem"}},
                                          "/c/1", "/home/me/castscope", "");
  EXPECT_THAT(made.mounts, ElementsAre(Mount{"/home/me/castscope", "/usr/local/bin/castscope"}, Mount{"/c/1", "/c/1"},
                                       Mount{"/home/me/token", "/home/me/token"}, Mount{"/etc/ca.pem", "/etc/ca.pem"}));
}

TEST(VariableForms, ALibraryBesideTheProgramIsMountedAlone) {
  const ForContainer made =
      for_container({{"LD_PRELOAD", "/usr/bin/libcastscope.so"}}, "/c/1", "/usr/bin/castscope", "");
  EXPECT_THAT(made.mounts, ElementsAre(Mount{"/usr/bin/castscope", "/usr/local/bin/castscope"}, Mount{"/c/1", "/c/1"},
                                       Mount{"/usr/bin/libcastscope.so", "/usr/bin/libcastscope.so"}));
}

}  // namespace
}  // namespace castscope::cli

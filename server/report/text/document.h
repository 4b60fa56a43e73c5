// How the JSON documents of castscope begin: what each is, and the number of its form.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace castscope::report {

// `castscope schema NAME` prints the schema of the document. docs/decisions/names.md says when the numbers grow.
struct DocumentForm {
  std::string_view name;
  int format = 0, format_minor = 0;
};

inline constexpr DocumentForm kReportForm = {"report", 2, 1};
inline constexpr DocumentForm kCheckForm = {"check", 2, 0};
inline constexpr DocumentForm kDiffForm = {"diff", 2, 1};
inline constexpr DocumentForm kRulesForm = {"rules", 2, 1};
inline constexpr DocumentForm kPolicyCheckForm = {"policy-check", 2, 0};
inline constexpr DocumentForm kPolicyExplainForm = {"policy-explain", 2, 0};
inline constexpr DocumentForm kPolicyDiffForm = {"policy-diff", 2, 0};
inline constexpr DocumentForm kPolicyListForm = {"policy-list", 2, 0};
inline constexpr DocumentForm kDoctorForm = {"doctor", 2, 0};
inline constexpr DocumentForm kCountsForm = {"counts", 2, 0};

// `members` follow what the document begins with.
nlohmann::ordered_json document(const DocumentForm& form, const nlohmann::ordered_json& members);

}  // namespace castscope::report

// The dtypes that operators computed in, for an account: of a run from its layers (model/layers.h), of a report from
// what it says of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/report/compare/account.h"
#include "server/report/compare/report_part.h"

namespace castscope::report {

// Why an operator computed in a half.
enum class HalfFrom : std::uint8_t {
  kAutocast,   // autocast cast one of its arguments
  kArguments,  // it was given a half
  kCode,       // neither: the code asked for it (torch.arange(n, dtype=x.dtype))
};
std::string_view name(HalfFrom);  // "autocast", "arguments", "code"

std::vector<AccountPrecision> operators_of(const Model&, const std::string& project);
// `report`: the whole of it, since its layers refer to its modules.
std::vector<AccountPrecision> operators_of(const ReportPart& report, const std::string& project);

}  // namespace castscope::report

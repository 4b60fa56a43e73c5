// Asks Git whether a checkout differs from its commit, without starting any program that the checkout names.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace castscope::cli {

// No value where it is not known: Git fails, it is too late, or only a filter of the checkout could say whether a file
// is what was committed.
std::optional<bool> differs_from_commit(const std::string& checkout, const std::function<bool()>& is_too_late);

}  // namespace castscope::cli

// A policy of a test, from its text.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "server/policy/operators.h"
#include "server/policy/policy_file.h"

namespace castscope::policy {

inline Policy policy(const std::string& text) {
  auto parsed = parse_policy(text, "p.json", Operators::of_pytorch());
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed.ok() ? std::move(parsed->policy) : Policy();
}

}  // namespace castscope::policy

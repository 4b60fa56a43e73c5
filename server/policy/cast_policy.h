// The ways in which a policy may treat an operator's arguments: PyTorch's names for them (CastPolicy of
// ATen/autocast_mode.h), and two that PyTorch implements without a name.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace castscope::policy {

enum class CastPolicy : std::uint8_t {
  kLowerPrecision,   // eligible arguments are cast to the lower precision
  kFp32,             // eligible arguments are cast to float32
  kFp32SetOptDtype,  // its `dtype` argument is float32 unless the caller gave one; arguments stay
  kFp32AppendDtype,  // it is called with a dtype argument more, float32; arguments stay
  kPromote,          // eligible arguments are cast to the widest dtype among them
  kBanned,           // it raises
  kPassthrough,      // nothing: it runs as outside autocast
};

inline constexpr std::array<std::string_view, 7> kCastPolicyNames = {
    "lower_precision_fp", "fp32", "fp32_set_opt_dtype", "fp32_append_dtype", "promote", "banned", "passthrough"};

std::string_view name(CastPolicy);
std::optional<CastPolicy> cast_policy_of(std::string_view name);
// Returns "casts its floating-point arguments to float32".
std::string_view meaning(CastPolicy);

// The dtypes that autocast casts to; "ambient" is the dtype of the region.
enum class Dtype : std::uint8_t { kAmbient, kBFloat16, kFloat16 };
inline constexpr std::array<std::string_view, 3> kDtypeNames = {"ambient", "bfloat16", "float16"};
std::string_view name(Dtype);
// Returns the dtype of PyTorch's autocast on that device when a region names none.
Dtype default_of(std::string_view device);

inline constexpr std::array<std::string_view, 5> kDeviceNames = {"cpu", "cuda", "xpu", "mps", "any"};

}  // namespace castscope::policy

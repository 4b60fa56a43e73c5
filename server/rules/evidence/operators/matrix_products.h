// The operators that multiply matrices and do nothing else, by PyTorch's names. Code that asks for more (convolutions,
// operators made of products, attention) adds those to these.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace castscope::rules {

inline constexpr std::array<std::string_view, 8> kMatrixProducts = {"mm",    "matmul", "bmm",     "linear",
                                                                    "addmm", "addbmm", "baddbmm", "mv"};

// `name` has neither "aten::" nor the overload.
constexpr bool is_matrix_product(std::string_view name) {
  return std::find(kMatrixProducts.begin(), kMatrixProducts.end(), name) != kMatrixProducts.end();
}

}  // namespace castscope::rules

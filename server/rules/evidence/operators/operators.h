// Operators by their names.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace castscope::rules {

// "aten::add.Tensor" → "aten::add" → "add". Whose an operator is stays, unless it is PyTorch's own: "mylib::fused".
std::string_view base_name(std::string_view op);
std::string short_name(std::string_view op);
bool is_one_of(std::string_view name, std::span<const std::string_view> names);
// "layer_norm" of "aten::native_layer_norm": a name that PyTorch has for the same work at another level.
std::string work_of(std::string_view op);

// A product of matrices or a convolution, by the names that a job calls: what autocast was made to speed up, on every
// device.
bool is_product(std::string_view op);
// One that calls products, and is itself on no list of autocast's.
bool is_made_of_products(std::string_view op);
// A product, or attention, or a recurrent cell, of whatever library and by whatever name its parts have: work that is
// meant to be in low precision. Other operators that autocast casts (concatenations, losses) are as good without.
bool is_matrix_work(std::string_view op);

}  // namespace castscope::rules

// Classifies operators by their names.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace castscope::rules {

// base_name and short_name cut "aten::add.Tensor" to "aten::add" and to "add". The namespace stays, unless it is
// PyTorch's own: "mylib::fused".
std::string_view base_name(std::string_view op);
std::string short_name(std::string_view op);
bool is_one_of(std::string_view name, std::span<const std::string_view> names);
// Returns "layer_norm" for "aten::native_layer_norm": the name that PyTorch has for the same work at another level.
std::string work_of(std::string_view op);

// The operator is a product of matrices or a convolution, by the names that a job calls: autocast was made to speed up
// these, on every device.
bool is_product(std::string_view op);
// The operator calls products, and is itself on no list of autocast's.
bool is_made_of_products(std::string_view op);
// The operator is a product, attention or a recurrent cell, of whatever library and whatever its parts are called: work
// that is meant to run in low precision. Other operators that autocast casts (concatenations, losses) do as well
// without it.
bool is_matrix_work(std::string_view op);

}  // namespace castscope::rules

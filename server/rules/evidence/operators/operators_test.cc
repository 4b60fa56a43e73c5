#include "server/rules/evidence/operators/operators.h"

#include <gtest/gtest.h>

namespace castscope::rules {
namespace {

TEST(OperatorsTest, NamesOfOperators) {
  EXPECT_EQ(base_name("aten::add.Tensor"), "aten::add");
  EXPECT_EQ(base_name("aten::mm"), "aten::mm");
  EXPECT_EQ(short_name("aten::add.Tensor"), "add");
  EXPECT_EQ(short_name("mylib::fused.default"), "mylib::fused");  // the namespace matters
}

// Products go by the names that a job calls; matrix work also by the names of backends.
TEST(OperatorsTest, ProductsAndMatrixWork) {
  for (const char* op : {"aten::mm", "aten::linear", "aten::einsum", "aten::convolution"}) {
    EXPECT_TRUE(is_product(op)) << op;
    EXPECT_TRUE(is_matrix_work(op)) << op;
  }
  for (const char* op : {"aten::_scaled_dot_product_flash_attention", "aten::lstm.input", "mylib::mm"}) {
    EXPECT_FALSE(is_product(op)) << op;
    EXPECT_TRUE(is_matrix_work(op)) << op;
  }
  for (const char* op : {"aten::cat", "aten::mse_loss", "prims::convert_element_type"}) {
    EXPECT_FALSE(is_product(op)) << op;
    EXPECT_FALSE(is_matrix_work(op)) << op;
  }
}

}  // namespace
}  // namespace castscope::rules

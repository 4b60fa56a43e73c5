// compile-dtype-differs: the same line computed a matrix product, a convolution or attention in one dtype in Python and
// in another in a compiled graph. Other operators are decomposed before there is a graph, and have no counterpart in
// it.
#include <map>
#include <set>

#include "absl/strings/str_join.h"
#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/mode_of.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::compile_dtype_differs {
namespace {

using store::OperatorUse;

// linear is addmm or mm in a graph, einsum is bmm: all matrix work at one line counts as one.
struct Products {
  std::set<std::uint8_t> eager, compiled;
  store::StackId stack = {};  // of a compiled operator
  std::set<std::string> operators;
};

// By line and by the dtype of the region: in every mode, one line computes differently in regions of two dtypes.
using Spot = std::pair<Line, std::uint8_t>;

std::map<Spot, Products> products_of(const store::RunData& data) {
  std::map<Spot, Products> spots;
  const auto times = times_of_uses(data);
  for (const OperatorUse& use : data.operator_uses) {
    if (times[use.id] == 0 || use.phase == lanes::Phase::kBackward || !is_floating(use.computed) ||
        !is_matrix_work(use.op))
      continue;
    const std::optional<Mode> mode = mode_of(data, use);
    if ((mode != Mode::kEager && mode != Mode::kCompile) || !in_autocast(data, use)) continue;
    Products& here = spots[{line_of(data, use.stack), data.regions[use.region].dtype}];
    if (mode == Mode::kCompile) {
      here.compiled.insert(use.computed);
      here.stack = use.stack;
      here.operators.insert(short_name(use.op));
    } else {
      here.eager.insert(use.computed);
    }
  }
  return spots;
}

std::string names(const std::set<std::uint8_t>& dtypes) {
  std::vector<std::string> all;
  for (const std::uint8_t dtype : dtypes) all.emplace_back(store::dtype_name(dtype));
  return absl::StrJoin(all, ", ");
}

void judge_products(Inquiry& inquiry) {
  for (const auto& [spot, products] : products_of(inquiry.data)) {
    if (products.eager.empty() || products.compiled.empty()) continue;
    std::set<std::uint8_t> only_compiled;
    for (const std::uint8_t dtype : products.compiled)
      if (!products.eager.contains(dtype)) only_compiled.insert(dtype);
    if (only_compiled.empty()) continue;
    Finding& finding = inquiry.add(products.stack);
    finding.title = absl::StrJoin(products.operators, ", ") + " computes in " + names(only_compiled) +
                    " where torch.compile runs it, in " + names(products.eager) + " in Python";
    finding.evidence_text = {{"computed_in", names(only_compiled)}, {"eager_computed_in", names(products.eager)}};
    finding.deep_only = true;
    finding.fix =
        "Look at what the compiler does with autocast, and take out a region of its own: the code then computes in the "
        "dtype of the region around its call. With PyTorch's own backends this is a defect: please report it there.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "compile-dtype-differs",
    .severity = "error",
    .harm = Harm::kPrecision,
    .summary = "compiled code computes in another dtype than eager code",
    .thresholds = {},
    .sees = kOperators,
    .explanation = {.what = "The same line ran in Python, within a region, and in a graph of torch.compile, and its "
                            "matrix product, convolution or attention computed in different dtypes.",
                    .why = "Compiled code is meant to compute what eager code does. Seen with compilers that bring an "
                           "autocast of their own.",
                    .example = R"(import torch
from torch._dynamo.backends.debugging import aot_eager

def backend(graph, inputs):
    with torch.autocast("cpu", dtype=torch.float16):  # the compiler's own
        return aot_eager(graph, inputs)

def product(a):
    return a @ a

compiled = torch.compile(product, backend=backend)
for _ in range(3):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y, z = product(torch.randn(8, 8)), compiled(torch.randn(8, 8)))",
                    .fix = "Compile without the compiler's own autocast: the code then computes in the dtype of the "
                           "region around its call.",
                    .fixed_example = R"(import torch
from torch._dynamo.backends.debugging import aot_eager

def backend(graph, inputs):
    return aot_eager(graph, inputs)

def product(a):
    return a @ a

compiled = torch.compile(product, backend=backend)
for _ in range(3):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y, z = product(torch.randn(8, 8)), compiled(torch.randn(8, 8)))",
                    .links = "https://docs.pytorch.org/docs/stable/torch.compiler.html"},
    .judge = judge_products,
};

}  // namespace castscope::rules::compile_dtype_differs

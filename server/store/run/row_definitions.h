// The definitions that are one row each and are counted by times alone. Everything that is done alike for each of them
// goes by this list.
//
// Each says itself what its columns are. From that follow how a row is written, what makes two of them one, how it is
// read, and which of its numbers must lead somewhere: its ids (write/row_table.h, read/row_reader.h,
// read/references.cc).
//
//   struct Flow {
//     …
//     static constexpr const char* kTable = "flows";
//     static constexpr const char* kTimes = "times";  // the column of its counts
//     // In the order of the table, behind `id`.
//     template <typename Self, typename Column>
//     static void columns(Self& flow, Column column) {
//       column("from_operator_use", flow.from);
//       column("argument_position", flow.argument);
//     }
//   };
#pragma once

#include <cstdint>
#include <vector>

#include "server/store/run/deep_data.h"
#include "server/store/run/gpu_data.h"

namespace castscope::store {

// DEFINITION(type, RunData's list of them, RunData's list of their counts, the counts' word for their number, which is
// their column in the table of counts too)
#define CASTSCOPE_ROW_DEFINITIONS(DEFINITION) \
  DEFINITION(Flow, flows, flow_counts, flow)  \
  DEFINITION(Fact, facts, fact_counts, fact)  \
  DEFINITION(Matmul, matmuls, matmul_counts, matmul)

// Since the run file's tables had the format 6: the number rises with each.
#define CASTSCOPE_ONE_DEFINITION(...) +1
inline constexpr std::int32_t kAddedDefinitions = CASTSCOPE_ROW_DEFINITIONS(CASTSCOPE_ONE_DEFINITION) - 3;
#undef CASTSCOPE_ONE_DEFINITION

// How often a process saw one of these definitions. The rows are in order of (process, number).
#define CASTSCOPE_COUNT(Type, list, counts, word) \
  struct Type##Count {                            \
    ProcessId process = {};                       \
    Id<Type> word = {};                           \
    std::uint64_t times = 0;                      \
  };
CASTSCOPE_ROW_DEFINITIONS(CASTSCOPE_COUNT)
#undef CASTSCOPE_COUNT

// Names the lists of RunData and the table of the run file that hold a definition's rows and their counts.
template <typename Row>
struct Counted;
#define CASTSCOPE_COUNTED(Type, list, count_list, word)         \
  template <>                                                   \
  struct Counted<Type> {                                        \
    static constexpr const char* kTable = #count_list;          \
    static constexpr const char* kColumn = #word;               \
    static constexpr auto kNumber = &Type##Count::word;         \
    static auto& rows(auto& data) { return data.list; }         \
    static auto& counts(auto& data) { return data.count_list; } \
  };
CASTSCOPE_ROW_DEFINITIONS(CASTSCOPE_COUNTED)
#undef CASTSCOPE_COUNTED

}  // namespace castscope::store

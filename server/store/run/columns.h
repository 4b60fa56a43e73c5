// Definitions that are one row each in the run file say themselves what their columns are. From that follow how a row
// is written, what makes two of them one, how it is read, and which of its numbers must lead somewhere
// (write/row_table.h, read/row_reader.h, read/references.cc).
//
//   struct Flow {
//     …
//     static constexpr const char* kTable = "flows";
//     // In the order of the table, behind `id`.
//     template <typename Self, typename Column>
//     static void columns(Self& flow, Column column) {
//       column("from_use", flow.from, Refers::kOperatorUse);
//       column("argument", flow.argument);
//     }
//   };
#pragma once

namespace castscope::store {

// The kind of thing that a number in a definition refers to. In what a process sends, it is the process's own number of
// that thing; in RunData it is the run's number of it.
enum class Refers {
  kNothing,
  kStack,
  kModule,
  kRegion,
  kSite,          // that it was never defined is an error of who says so, as for the three above
  kOperatorUse,   // its definition may have had no room in the process: 0
  kSubjectOfFact  // a site, an operator use or a region, as the fact's kind says (lanes::subject_of)
};

}  // namespace castscope::store

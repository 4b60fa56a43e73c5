// Answers questions that rules ask about a site: a place where something is cast.
#pragma once

#include <string>

#include "server/store/run/run_data.h"

namespace castscope::rules {

// The site casts a weight or a buffer: a part of the model, not a value that goes through it.
bool is_of_model(const store::Site&);
// Returns "weight" or "input", the name in the operator's schema; "" where that is not known.
std::string argument_name(const store::RunData&, const store::Site&);
// Returns that name, or else the argument's role.
std::string argument_text(const store::RunData&, const store::Site&);
// Returns the site of the cast that this conversion is, where castscope made it for a function that is annotated
// (`site.op`); nullptr where the conversion is the code's own.
const store::Site* annotation_of(const store::RunData&, const store::OperatorUse& conversion);

}  // namespace castscope::rules

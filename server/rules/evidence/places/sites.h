// Questions that rules ask about a site: a place where something is cast.
#pragma once

#include <string>

#include "server/store/run/run_data.h"

namespace castscope::rules {

// A weight or a buffer: of the model, not of what goes through it.
bool is_of_model(const store::Site&);
// "weight", "input": as the operator's schema calls what is cast; "" where that is not known.
std::string argument_name(const store::RunData&, const store::Site&);
// … or else its role.
std::string argument_text(const store::RunData&, const store::Site&);
// The cast that this conversion is, where castscope made it for a function that is annotated (`site.op`); nullptr: it
// is the code's own.
const store::Site* annotation_of(const store::RunData&, const store::OperatorUse& conversion);

}  // namespace castscope::rules

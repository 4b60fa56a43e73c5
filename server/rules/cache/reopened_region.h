// The part of weight-cast-repeatedly that looks beyond one stay: a region that one forward pass enters again and again.
#pragma once

#include "server/rules/inquiry/rule.h"

namespace castscope::rules::weight_cast_repeatedly {

// Adds a finding for each region whose casts repeat those of an earlier stay in the same forward pass. Between two such
// stays there is no backward, no optimizer step and no write to the weight (server/store/trackers/pass_recasts.h): a
// region around both keeps the copies, and changes no result. So two forward passes of one loss are found, and so are
// both calls of a GAN's discriminator, if each has a region of its own; micro-batches, evaluation, and a region of its
// own for the loss, which has no weights, are not. It must be so in most passes: a batch that is left out before
// backward looks like a part of the next pass.
void judge_reopened_regions(Inquiry& inquiry);

}  // namespace castscope::rules::weight_cast_repeatedly

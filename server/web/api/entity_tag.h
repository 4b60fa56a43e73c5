// Tags of answers (ETag): who has an answer with the same tag need not be told it again.
#pragma once

#include <string>
#include <string_view>

#include "server/web/runs/run_source.h"

namespace castscope::web {

// A weak tag that changes with whatever may change the answer to this question, which is made from the run's snapshot
// and its timeline; `other` is a second run that it is about, or null. "" where a run cannot be read. Ask for it before
// the answer is made: an answer that is newer than its tag is told once too often, an older one would stay for good.
std::string tag_of(RunSource& run, RunSource* other, std::string_view question);

// Whether the header If-None-Match names this tag, as RFC 9110 compares weakly.
bool names_tag(std::string_view if_none_match, std::string_view tag);

}  // namespace castscope::web

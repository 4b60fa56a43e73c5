// Takes out of the messages of a relay what may not leave the job. All texts that a relay sends are in a hello, in
// records of definitions and in a goodbye, and these go through here before anything else is done with them.
#pragma once

#include <string>
#include <string_view>

#include "proto/castscope/v1/castscope.pb.h"
#include "server/redaction/redaction.h"

namespace castscope::redaction {

void redact(Redaction& redaction, v1::Hello& hello);
void redact(Redaction& redaction, v1::Goodbye& goodbye);
// Whole definition records (agent/lanes/definition_records.h): numbers stay, texts are replaced.
std::string redacted_records(Redaction& redaction, std::string_view records);

}  // namespace castscope::redaction

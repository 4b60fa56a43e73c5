// Runs a fuzzer without libFuzzer.
#pragma once

#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/mutation.h"

namespace castscope::fuzz {

// Runs it on the corpus, and on as many mutations of it as the fuzzer asks for. If the program ends in one of them, its
// input is in a file NAME-found of the working folder, and standard error says so.
void replay(const Fuzzer&, const Corpus&);

}  // namespace castscope::fuzz

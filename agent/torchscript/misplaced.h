// Sources that PyTorch names a wrong file for, or compiles without their decorators. Of a decorated method
// torch.jit.script takes the lines from what is decorated, and the file from the decorator's wrapper, which lies
// elsewhere (torch/_sources.py: inspect.getsourcelines follows functools.wraps, inspect.getsourcefile does not). Only
// Python knows the true one: it is asked where that may be. All functions may be called by any thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "agent/torchscript/node_facts.h"

namespace castscope::script {

struct ToldSource {
  std::string file;  // as PyTorch names it
  std::string text;
  std::uint32_t line = 0;  // of the text's first line
};

// Whether these lines are in that file, whatever their indentation; true where it cannot be read.
bool stands_in_its_file(const ToldSource&);

// Has a look, once for each source. Python is asked about what is not there, and about all that is decorated.
void look_at_file(const ToldSource&);
// Whether there is a source that Python is or was asked about; the number by which such a one is known, 0 for every
// other.
bool any_misplaced();
std::uint32_t misplaced_number(const ToldSource&);

// Which Python has not been asked about.
bool any_unasked();
std::vector<std::pair<std::uint32_t, ToldSource>> take_unasked();
void found_in(std::uint32_t number, std::string file);

// The file of a line, as far as it is known.
std::string file_of(const CodeLine&);

// "net.py:12", of the innermost line; "" where no place is known.
std::string place_text(const Region&);

// In the thread that forks; the end in parent and child.
void misplaced_fork_begins();
void misplaced_fork_ends();

}  // namespace castscope::script

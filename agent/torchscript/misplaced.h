// Sources for which PyTorch names a wrong file, or which it compiles without their decorators. For a decorated method
// torch.jit.script takes the lines from the decorated function, and the file from the decorator's wrapper, which lies
// elsewhere (torch/_sources.py: inspect.getsourcelines follows functools.wraps, inspect.getsourcefile does not). Only
// Python knows the true file: it is asked where that may be. All functions may be called by any thread.
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
  std::uint32_t line = 0;  // number of the text's first line
};

// Whether these lines are in that file, whatever their indentation; true where it cannot be read.
bool stands_in_its_file(const ToldSource&);

// Looks at the file, once for each source. Python will be asked about sources that are not there, and about all that
// are decorated.
void look_at_file(const ToldSource&);
// Whether there is a source that Python will be or was asked about; and the number by which such a source is known, 0
// for every other.
bool any_misplaced();
std::uint32_t misplaced_number(const ToldSource&);

// The sources that Python has not been asked about.
bool any_unasked();
std::vector<std::pair<std::uint32_t, ToldSource>> take_unasked();
void found_in(std::uint32_t number, std::string file);

// The true file of a line, as far as it is known.
std::string file_of(const CodeLine&);

// "net.py:12", for the innermost line; "" where no place is known.
std::string place_text(const Region&);

// Called around a fork: the begin in the thread that forks, the end in parent and child.
void misplaced_fork_begins();
void misplaced_fork_ends();

}  // namespace castscope::script

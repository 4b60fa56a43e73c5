// Files of settings. Each is opened once, and what is asked of it (its kind, its size, its owner) is asked of what was
// opened: a name may stand for another file a moment later.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/files/plain_file.h"

namespace castscope::config {

// Returns the text of a file of settings, which is an ordinary one of at most 1 MiB; `what` names it in errors ("the
// file of tokens"). It waits for nothing.
absl::StatusOr<std::string> read_text(const std::string& file, const std::string& what);
// The same for one that was opened already, or could not be.
absl::StatusOr<std::string> text_of(const absl::StatusOr<files::PlainFile>& opened, const std::string& file,
                                    const std::string& what);

// The same for a file that says who is let in. Nobody but root and the user of this process may write to it, or put
// another one in its place: each folder and link on the way to it is theirs, too, and nobody else may write there. Of a
// folder in which everybody may only remove what is his own, as in /tmp, what lies there counts.
absl::StatusOr<std::string> read_trusted_text(const std::string& file, const std::string& what);

// Opens such a file to read it, and returns the descriptor, which the caller closes.
absl::StatusOr<int> open_trusted(const std::string& file, const std::string& what);

}  // namespace castscope::config

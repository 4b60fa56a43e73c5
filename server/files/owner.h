// Whose files count that nobody named: those that castscope finds by looking into folders, which others may write to.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <optional>
#include <string>

namespace castscope::files {

// A file that is found counts if it belongs to the user of this process, to root, or to the owner of the folder that it
// lies in: that one may replace the folder with all that is in it. Where everybody may write, as in /tmp, the owner of
// the folder is no better than others. A link is its owner's word, wherever it leads.
// Returns the stranger to whom a file belongs that does not count. `opened` is what was opened under this name; null =
// it could not be.
std::optional<uid_t> stranger_who_owns(const std::string& path, const struct stat* opened);

}  // namespace castscope::files

// What Git knows of a checkout, read from its files, without running Git.
#pragma once

#include <string>

namespace castscope::cli {

struct GitFacts {  // "" = not known
  std::string commit, branch, origin;
};

// `folder` has a ".git": a folder, or the file of a worktree or submodule that names one. Never fails: what cannot be
// read is not known.
GitFacts git_facts(const std::string& folder);

// "https://TOKEN@host/a.git" without the token. The user's name of an SSH address stays: it is part of the address.
std::string without_credentials(const std::string& url);

}  // namespace castscope::cli

#include "server/web/api/selection.h"

#include "absl/strings/ascii.h"

namespace castscope::web {
namespace {

// The index is the run-wide id.
template <typename Of>
std::vector<bool> having(const store::Table<std::string, Of>& words, const std::string& text) {
  std::vector<bool> found(words.size() + 1);
  for (const store::Id<Of> id : words.ids()) found[id] = words[id].find(text) != std::string::npos;
  return found;
}

}  // namespace

timeline::Selection select(const Snapshot& snapshot, const std::vector<timeline::Shade>& shades,
                           const std::string& text) {
  std::string wanted = text;
  absl::AsciiStrToLower(&wanted);
  timeline::Selection selection{.sites = having(snapshot.words_of_sites(), wanted),
                                .uses = having(snapshot.words_of_uses(), wanted),
                                .regions = having(snapshot.words_of_regions(), wanted),
                                .kernels = having(snapshot.words_of_kernels(), wanted),
                                .shades = std::vector<bool>(256)};
  for (const timeline::Shade& shade : shades)
    selection.shades[shade.id] = std::string(timeline::name(shade.kind)).find(wanted) != std::string::npos;
  return selection;
}

}  // namespace castscope::web

#include "server/report/html/excerpts.h"

#include <algorithm>

#include "server/report/text/words.h"

namespace castscope::report {
namespace {

constexpr std::int64_t kContext = 3;

bool touch(const Excerpt& a, const Excerpt& b) {
  return a.kept && b.kept && a.file == b.file && a.first <= b.last + 1 && b.first <= a.last + 1;
}

void take_in(Excerpt& excerpt, const Excerpt& other) {
  excerpt.first = std::min(excerpt.first, other.first);
  excerpt.last = std::max(excerpt.last, other.last);
  excerpt.marked.insert(other.marked.begin(), other.marked.end());
}

// Joining two excerpts may make them touch a third one.
void join_what_touches(std::vector<Excerpt>& all) {
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i + 1; j < all.size();) {
      if (!touch(all[i], all[j])) {
        ++j;
        continue;
      }
      take_in(all[i], all[j]);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(j));
      j = i + 1;
    }
}

}  // namespace

std::vector<Excerpt> excerpts_of(const store::RunData& run, const std::vector<store::CodeLocation>& places) {
  std::vector<Excerpt> all;
  for (const store::CodeLocation& at : places) {
    const store::SourceFile* const file = run.source.file(at.file);
    all.push_back({.file = at.file,
                   .first = at.line - kContext,
                   .last = at.line + kContext,
                   .marked = {at.line},
                   .places = {},
                   .kept = file != nullptr && file->lines.contains(at.line)});
  }
  join_what_touches(all);
  for (Excerpt& excerpt : all) {
    for (const std::int64_t line : excerpt.marked)
      excerpt.places += excerpt.places.empty() ? place(run, store::CodeLocation{excerpt.file, "", line})
                                               : ", " + std::to_string(line);
  }
  return all;
}

void write_excerpt(Html& html, const store::RunData& run, const Excerpt& excerpt) {
  const store::SourceFile* const file = run.source.file(excerpt.file);
  if (!excerpt.kept || file == nullptr) return;
  // Lines that are too long for the window scroll: by keyboard only if the block can have the focus.
  const auto block = html.element("pre", {{"class", "source"}, {"tabindex", "0"}, {"aria-label", excerpt.places}});
  for (std::int64_t n = excerpt.first; n <= excerpt.last; ++n) {
    const auto line = file->lines.find(n);
    if (line == file->lines.end()) continue;
    const auto row = excerpt.marked.contains(n) ? html.element("span", {{"class", "hit"}}) : html.element("span");
    html.leaf("i", std::to_string(n));
    html.text(shown_source(line->second));
  }
}

}  // namespace castscope::report

#include "server/report/html/page_text.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_split.h"
#include "server/report/text/breakable.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/weights.h"
#include "server/store/run/names.h"

namespace castscope::report {

void write_with_code(Html& html, std::string_view text) {
  while (!text.empty()) {
    const std::size_t begin = text.find('`'), end = begin == text.npos ? begin : text.find('`', begin + 1);
    if (end == text.npos) break;
    write_breakable(html, text.substr(0, begin));
    {
      const auto code = html.element("code");
      write_breakable(html, text.substr(begin + 1, end - begin - 1));
    }
    text.remove_prefix(end + 1);
  }
  write_breakable(html, text);
}

void write_swatch(Html& html, const std::string& look, const std::string& text) {
  const auto item = html.element("span", {{"class", "swatch " + look}});
  html.leaf("i", "");
  html.text(text);
}

std::string time_of_casts(const store::Counts& counts) {
  if (counts.cpu_ns > 0) return duration(counts.cpu_ns);
  return counts.casts > 0 ? "not timed" : "";
}

std::string part_of_time(std::uint64_t ns, const store::Counts& counts) {
  if (ns > 0) return duration(ns);
  return counts.cpu_ns > 0 ? "–" : time_of_casts(counts);
}

std::string_view cause_words(lanes::Cause cause) {
  using lanes::Cause;
  switch (cause) {
    case Cause::kUserTo:
      return "explicit to()";
    case Cause::kDtypeArgument:
      return "dtype argument";
    case Cause::kCustomCast:
      return "custom_fwd";
    case Cause::kPromotion:
      return "type promotion";
    case Cause::kScript:
      return "TorchScript";
    case Cause::kOperator:
      return "an operator's own";
    case Cause::kFsdp:
      return "FSDP";
    case Cause::kCompiled:
      return "torch.compile";
    case Cause::kReflatten:
      return "cuDNN RNN";
    case Cause::kPytorch:
      return "PyTorch itself";
    case Cause::kUnknown:
      return "cause not known";
    default:
      return store::name(cause);
  }
}

std::string reasons_in_words(std::string_view identifiers) {
  const std::span<const std::string_view> names = store::why_not_cached_names();
  std::string words;
  for (const std::string& one : std::vector<std::string>(absl::StrSplit(std::string(identifiers), ", "))) {
    const auto known = std::ranges::find(names, one);
    std::string told =
        known == names.end() ? one : rules::why_not_kept(static_cast<lanes::WhyNotCached>(known - names.begin()));
    if (told.empty()) told = "kept";
    words += (words.empty() ? "" : ", ") + told;
  }
  return words;
}

std::string operator_words(const store::RunData& run, const store::Site& site) {
  const auto what = [&](const store::Site& of) {
    const std::string argument = argument_words(run, of);
    return (of.op.empty() ? std::string(cause_words(of.cause)) : operator_of(of)) +
           (argument.empty() ? "" : " " + argument);
  };
  const store::Site* const forward = run.sites.find(site.forward_site);
  return forward == nullptr
             ? what(site)
             : what(site) + ", gradient of " + what(*forward) + ", " + place(run, run.user_location(forward->stack));
}

std::vector<std::string> telling_of_stack(const store::RunData& run, store::StackId stack) {
  constexpr std::size_t kFrames = 12;
  std::vector<std::string> telling;
  if (stack == 0) return telling;
  const std::vector<store::CodeLocation>& frames = run.stacks[stack].frames;
  const auto user =
      std::ranges::find_if(frames, [&](const auto& frame) { return store::is_users_own(frame, run.torch_folders); });
  const auto own = user == frames.end() ? frames.begin() : user;
  const auto said = [&](const char* how, const store::CodeLocation& at) {
    if (telling.size() < 2 * kFrames) telling.push_back(how + place(run, at));
  };
  for (auto outer = own == frames.end() ? own : own + 1; outer != frames.end(); ++outer) said("called at ", *outer);
  telling.resize(kFrames);  // so that those of all rows have the same places
  for (auto inner = frames.begin(); inner != own; ++inner) said("by way of ", *inner);
  return telling;
}

}  // namespace castscope::report

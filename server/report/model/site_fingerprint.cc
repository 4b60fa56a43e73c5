#include "server/report/model/site_fingerprint.h"

#include "server/report/findings/fingerprint.h"
#include "server/report/text/words.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

std::string site_identity(const store::RunData& run, const store::Site& site) {
  const auto at = run.user_location(site.stack);
  std::string parts;
  const auto add = [&parts](std::string_view part) { (parts += part) += '\0'; };
  add(store::name(site.cause));
  add(at ? portable_path(at->file, run.start.project()) : "");
  add(at ? at->function : "");
  add(at ? line_identity(run.source, *at) : "");
  add(site.op);
  add(report::argument_of(run, site.call_site));
  add(store::dtype_name(site.from));
  add(store::dtype_name(site.to));
  add(store::name(site.role));
  add(store::name(site.phase));
  if (const store::Site* const forward = run.sites.find(site.forward_site)) parts += site_identity(run, *forward);
  return parts;
}

}  // namespace

store::Table<std::string, store::Site> site_fingerprints(const store::RunData& run, std::span<const SiteTotal> sites,
                                                         std::span<const std::size_t> by_code) {
  CountedDigits digits;
  store::Table<std::string, store::Site> all(run.sites.size());
  for (const std::size_t place : by_code) {
    const store::SiteId site = sites[place].site;
    all[site] = digits.of(site_identity(run, run.sites[site]));
  }
  return all;
}

}  // namespace castscope::report

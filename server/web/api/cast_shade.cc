#include "server/web/api/cast_shade.h"

#include "server/timeline/tracks/shades.h"

namespace castscope::web {
namespace {

using timeline::ShadeKind;

bool is_cast(ShadeKind kind) { return kind == ShadeKind::kDown || kind == ShadeKind::kUp || kind == ShadeKind::kSame; }

}  // namespace

std::uint8_t shade_of(const store::Site& site, const std::vector<timeline::Shade>& shades) {
  std::uint8_t almost = 0;
  for (const timeline::Shade& shade : shades) {
    if (shade.track != timeline::TrackKind::kCasts || shade.cause != site.cause || shade.dtype != site.to) continue;
    if (site.pass_through() ? shade.kind == ShadeKind::kPass : shade.kind == timeline::cast_kind(site.from, site.to))
      return shade.id;
    if (is_cast(shade.kind) && !site.pass_through()) almost = shade.id;
  }
  return almost;
}

}  // namespace castscope::web

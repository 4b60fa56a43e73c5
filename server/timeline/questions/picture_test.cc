#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "server/timeline/testing/test_oracle.h"
#include "server/timeline/testing/test_picture.h"

namespace castscope::timeline {
namespace {

using Wants = std::function<bool(const Plain&)>;

// Computes what a viewer should see of some intervals, by looking at each of them.
class Seen {
 public:
  Seen(const Timeline& timeline, const PictureQuery& query, const std::vector<Plain>& all, const Wants& wants)
      : query_(query), picture_(timeline.picture(query)), all_(all), wants_(wants) {
    for (const Track& track : timeline.tracks()) tracks_[track.id] = track;
    for (const Shade& shade : timeline.shades()) shades_[shade.id] = shade;
  }
  void check() {
    check_window();
    std::map<std::uint32_t, std::vector<Plain>> by_track;
    for (const Plain& one : all_) {
      if (!one.touches(first(), end()) || !wants_(one)) continue;
      for (const auto& [id, track] : tracks_) {
        if (place_of(track) == one.place()) by_track[id].push_back(one);
      }
    }
    for (const auto& [id, track] : tracks_) {
      EXPECT_EQ(picture_.tracks.count(id), by_track[id].empty() ? 0u : 1u);
      for (std::uint8_t band = 0; band < kBands; ++band) check_band(id, band, by_track[id]);
    }
    EXPECT_EQ(boxes_seen(), boxes_due(by_track));
  }

 private:
  std::int64_t first() const { return picture_.header.first; }
  std::int64_t width() const { return std::int64_t{1} << picture_.header.k; }
  std::int64_t end() const { return first() + width() * picture_.header.columns; }

  void check_window() const {
    const double pixel = std::max(static_cast<double>(query_.to - query_.from) / query_.pixels, 1.0);
    EXPECT_LE(static_cast<double>(width()), pixel);
    EXPECT_GT(static_cast<double>(width()) * 2, pixel);
    EXPECT_EQ(first() % width(), 0);
    EXPECT_LE(first(), query_.from);
    EXPECT_GT(first() + width(), query_.from);
    EXPECT_GE(end(), query_.to);
    EXPECT_LT(end() - width(), query_.to);
  }

  void check_band(std::uint32_t id, std::uint8_t band, const std::vector<Plain>& due) {
    std::vector<double> filled(picture_.header.columns);
    std::vector<std::set<std::tuple<ShadeKind, std::uint8_t>>> shades(picture_.header.columns);
    for (const Plain& one : due) {
      if (band_of(one.kind) != band) continue;
      const std::int64_t from = std::max(one.begin, first()), to = std::min(one.covered_to(), end());
      for (std::int64_t c = (from - first()) / width(); c <= (to - 1 - first()) / width(); ++c) {
        const std::int64_t begin = first() + c * width();
        const auto column = static_cast<std::size_t>(c);
        filled[column] += static_cast<double>(std::min(to, begin + width()) - std::max(from, begin));
        shades[column].insert({one.kind, one.dtype});
      }
    }
    for (std::size_t c = 0; c < filled.size(); ++c) {
      const std::uint16_t value = picture_.value(id, band, c);
      ASSERT_EQ(value != 0, filled[c] > 0) << testing::PrintToString(name(tracks_[id].kind)) << " track " << id
                                           << " band " << +band << " column " << c << " k " << picture_.header.k;
      if (value == 0) continue;
      const Shade shade = shades_[value & 0xff];
      ASSERT_TRUE(shades[c].contains({shade.kind, shade.dtype})) << "column " << c;
      const double part = band == kTimelessBand ? 1 : filled[c] / static_cast<double>(width());
      const double share = std::min(std::ceil(part * 255), 255.0);
      ASSERT_NEAR(value >> 8, share, 2) << "column " << c;
    }
  }

  using Box = std::tuple<std::uint32_t, std::uint32_t, float, float, int, int>;
  std::multiset<Box> boxes_seen() const {
    std::multiset<Box> boxes;
    for (const PictureBox& box : picture_.boxes) {
      boxes.insert(
          {box.track, box.subject, box.begin, box.end, static_cast<int>(shades_.at(box.shade).kind), box.flags});
    }
    return boxes;
  }
  std::multiset<Box> boxes_due(const std::map<std::uint32_t, std::vector<Plain>>& by_track) const {
    std::multiset<Box> boxes;
    const double pixel = std::max(static_cast<double>(query_.to - query_.from) / query_.pixels, 1.0);
    for (const auto& [id, due] : by_track) {
      for (const Plain& one : due) {
        if (one.begin == one.end || static_cast<double>(one.end - one.begin) < query_.box * pixel) continue;
        const auto column = [&](std::int64_t time) {
          return static_cast<float>(static_cast<double>(std::clamp(time, first(), end()) - first()) /
                                    static_cast<double>(width()));
        };
        const int flags = (one.open ? 1 : 0) | (one.begin < first() ? 2 : 0) | (one.end > end() ? 4 : 0);
        boxes.insert({id, one.subject, column(one.begin), column(one.end), static_cast<int>(one.kind), flags});
      }
    }
    return boxes;
  }

  const PictureQuery query_;
  const ReadPicture picture_;
  const std::vector<Plain>& all_;
  const Wants wants_;
  std::map<std::uint32_t, Track> tracks_;
  std::map<std::uint8_t, Shade> shades_;
};

// Makes a window of any length within the run, or a little beyond it.
PictureQuery some_window(std::mt19937& random, std::int64_t newest) {
  const double most = std::log(static_cast<double>(newest) * 1.2);
  const double length = std::exp(std::uniform_real_distribution(0.0, most)(random));
  PictureQuery query;
  query.from = std::uniform_int_distribution<std::int64_t>(-newest / 20, newest)(random);
  query.to = query.from + static_cast<std::int64_t>(length) + 1;
  query.pixels = std::uniform_int_distribution<std::uint32_t>(1, 1700)(random);
  return query;
}

class PictureTest : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  // Feeds two processes of three lanes in batches, with gaps.
  void happen(std::size_t batches, std::size_t in_batch) {
    for (std::size_t i = 0; i < batches; ++i) {
      Chance& process = random_() % 2 ? first_ : second_;
      process.go_on(random_() % 3 + 1, random_() % in_batch + 1);
      if (random_() % 40 == 0) process.gap();
    }
  }
  std::vector<Plain> all() const {
    std::vector<Plain> all = first_.all(timeline_.progress().newest);
    const std::vector<Plain> others = second_.all(timeline_.progress().newest);
    all.insert(all.end(), others.begin(), others.end());
    return all;
  }
  // Asks for each window twice: the second picture uses the tiles that the first one left.
  void check(
      int windows, const Filter& filter = {}, const Wants& wants = [](const Plain&) { return true; }) {
    const std::vector<Plain> plain = all();
    for (int i = 0; i < windows && !HasFatalFailure(); ++i) {
      PictureQuery query = some_window(random_, timeline_.progress().newest);
      query.filter = filter;
      SCOPED_TRACE(testing::Message() << "seed " << GetParam() << " from " << query.from << " to " << query.to << " in "
                                      << query.pixels);
      Seen(timeline_, query, plain, wants).check();
      Seen(timeline_, query, plain, wants).check();
    }
  }

  std::mt19937 random_{GetParam()};
  Timeline timeline_;
  Chance first_{timeline_, store::ProcessId(1), GetParam() + 1},
      second_{timeline_, store::ProcessId(2), GetParam() + 2, 12'345'678};
};

TEST_P(PictureTest, ShowsWhatAScanOfAllEventsShows) {
  happen(80, 3000);
  check(60);
}

// A picture that was painted before must not hide what has happened since.
TEST_P(PictureTest, ShowsWhatCameSince) {
  for (int i = 0; i < 6; ++i) {
    happen(15, 3000);
    check(20);
  }
}

TEST_P(PictureTest, ShowsFewEventsToo) {
  happen(6, 20);
  check(60);
}

TEST_P(PictureTest, LeavesOutWhatIsHidden) {
  happen(60, 2000);
  Filter filter;
  for (const Shade& shade : timeline_.shades()) {
    if (shade.kind == ShadeKind::kDown || shade.kind == ShadeKind::kRegion) filter.hidden.push_back(shade.id);
  }
  check(30, filter, [](const Plain& one) { return one.kind != ShadeKind::kDown && one.kind != ShadeKind::kRegion; });
}

// The queries run one after another on the same timeline: none may show what another one hides.
TEST_P(PictureTest, HidesNowThisNowThat) {
  happen(60, 2000);
  for (int i = 0; i < 12; ++i) {
    const ShadeKind hidden = std::array{ShadeKind::kDown, ShadeKind::kHit, ShadeKind::kRegion}[random_() % 3];
    Filter filter;
    for (const Shade& shade : timeline_.shades()) {
      if (shade.kind == hidden) filter.hidden.push_back(shade.id);
    }
    check(4, filter, [&](const Plain& one) { return one.kind != hidden; });
  }
}

TEST_P(PictureTest, ShowsOnlyWhatIsFound) {
  happen(60, 2000);
  Selection found;
  found.sites = {false, true, false, false, true};
  found.regions = {false, false, true};
  found.kernels = {false, false, true};
  found.of_kind[ShadeKind::kClear] = std::nullopt;
  Filter filter;
  filter.found = &found;
  check(30, filter, [](const Plain& one) {
    if (one.track == TrackKind::kCasts) return one.subject == 1 || one.subject == 4;
    if (one.track == TrackKind::kRegions || one.track == TrackKind::kKernels) return one.subject == 2;
    return one.kind == ShadeKind::kClear;
  });
}

// A search may ask for hits alone, or for the regions that are off.
TEST_P(PictureTest, ShowsOnlyTheKindsThatAreFound) {
  happen(60, 2000);
  Selection found;
  found.sites = {false, true, true, true, true, true, true, true, true};
  found.of_kind[ShadeKind::kHit] = Selection::Ids{false, false, true};
  found.of_kind[ShadeKind::kDown] = Selection::Ids{};
  found.of_kind[ShadeKind::kRegionOff] = std::nullopt;
  Filter filter;
  filter.found = &found;
  check(30, filter, [](const Plain& one) {
    if (one.kind == ShadeKind::kHit) return one.subject == 2;
    if (one.kind == ShadeKind::kDown) return false;
    return one.kind == ShadeKind::kRegionOff ||
           (one.track == TrackKind::kCasts && one.subject >= 1 && one.subject <= 8);
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, PictureTest, ::testing::Range(0u, 6u));

}  // namespace
}  // namespace castscope::timeline

// Keeps a run in a file in the simplest way that survives kill -9: commit() writes all of it again and renames it into
// place. wire_test.cc's collector process uses it, and the test reads the file afterwards.
#pragma once

#include <cstdio>
#include <fstream>
#include <map>
#include <string>

#include "agent/lanes/event_views.h"
#include "server/ingest/testing/recording_sink.h"

namespace castscope {

class JournalSink : public ingest::RecordingSink {
 public:
  struct LaneTotal {
    std::uint64_t received = 0, next = 0, out_of_order = 0;
  };
  struct State {
    std::map<std::uint32_t, LaneTotal> lanes;
    std::map<std::uint32_t, std::uint64_t> casts;  // by lane
    std::uint64_t sites = 0, lives = 0;
  };

  static State read(const std::string& path) {
    State state;
    std::ifstream file(path);
    std::string word;
    while (file >> word) {
      std::uint32_t lane = 0;
      if (word == "lane" && file >> lane) {
        LaneTotal& total = state.lanes[lane];
        file >> total.received >> total.next >> total.out_of_order >> state.casts[lane];
      } else if (word == "run") {
        file >> state.sites >> state.lives;
      }
    }
    return state;
  }

  explicit JournalSink(std::string path) : path_(std::move(path)), state_(read(path_)) { ++state_.lives; }

  absl::Status define(const std::string&, const store::Definition& definition) override {
    if (const auto* site = std::get_if<store::SiteInfo>(&definition))
      state_.sites = std::max<std::uint64_t>(state_.sites, site->id);
    return absl::OkStatus();
  }
  absl::Status events(const std::string&, const store::EventBlock& block) override {
    LaneTotal& lane = state_.lanes[block.lane];
    for (const lanes::Event& event : block.events) {
      const std::uint64_t number = lanes::EventWords::tensor(event);
      lane.out_of_order += number == lane.next ? 0 : 1;
      lane.next = number + 1;
    }
    return absl::OkStatus();
  }
  absl::Status lanes(const std::string&, std::span<const store::LaneRow> rows) override {
    for (const store::LaneRow& row : rows) state_.lanes[row.lane].received = row.received;
    return absl::OkStatus();
  }
  absl::Status counters(const std::string&, std::span<const store::CounterRow> rows) override {
    for (const store::CounterRow& row : rows) state_.casts[row.lane] = std::max(state_.casts[row.lane], row.casts);
    return absl::OkStatus();
  }
  store::LanePosition position(const std::string&, std::uint32_t lane) override {
    return {.received = state_.lanes[lane].received, .next = state_.lanes[lane].next};
  }
  absl::Status commit() override {
    {
      std::ofstream file(path_ + ".new");
      file << "run " << state_.sites << " " << state_.lives << "\n";
      for (const auto& [lane, total] : state_.lanes)
        file << "lane " << lane << " " << total.received << " " << total.next << " " << total.out_of_order << " "
             << state_.casts[lane] << "\n";
    }
    return std::rename((path_ + ".new").c_str(), path_.c_str()) == 0 ? absl::OkStatus()
                                                                     : absl::InternalError("rename failed");
  }

 private:
  const std::string path_;
  State state_;
};

}  // namespace castscope

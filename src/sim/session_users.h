#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "control/events.h"

namespace berth::sim {

// Those who have applications, and those who open sessions of them: some ask twice, some go away
// before they are answered; applications are edited, deleted and applied again.
class SessionUsers {
 public:
  SessionUsers(Random random, Time now);

  // When the next of them calls.
  Time next() const { return next_; }
  // REQUIRES: now >= next().
  std::vector<control::Event> calls(Time now);

 private:
  struct Line {
    model::Item item;
    model::Application application;
    bool is_there = false;
  };

  void draw_line(std::size_t index);
  void draw_scaling(model::ScalingPolicy& scaling);
  void draw_sessions(model::SessionOptions& sessions);
  control::Event apply(Line& line);
  control::Event edit(Line& line);
  control::Event remove(Line& line);
  control::Event open(const Line& line);
  control::Event open_again();
  control::Event close();
  void gather_leavers(std::vector<control::Event>& calls);
  Line& draw_a_line() { return lines_[random_.below(lines_.size())]; }

  Random random_;
  std::vector<Line> lines_;
  Duration pause_{};
  Time next_;
  std::vector<control::OpenSessionCall> opened_;  // the last ones
  std::vector<control::CallId> impatient_;
  control::CallId last_call_ = 1'000'000;  // far from those of other users
  std::uint64_t last_session_ = 0;
  std::uint64_t last_version_ = 1;
};

}  // namespace berth::sim

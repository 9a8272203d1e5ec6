#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "model/instance.h"

namespace berth::agent {

// Whether one run stands still, and what its runtime was told about that. Each order has a number:
// only the answer to the last one counts. One that is not answered is given again, one that failed
// after a while, which grows. To pause what is paused, or to resume what runs, does no harm.
class Standstill {
 public:
  // The run was found: it may have been paused in an earlier life of the agent.
  void doubt() { is_ = Is::PerhapsRunning; }

  // Looks at the clock. The number of the order that is to be given now.
  std::optional<std::uint32_t> ask(Time now, model::Pausing wanted, Duration patience);

  // Whether anybody waited for this answer; others are late or repeated, and ignored.
  bool answered(Time now, std::uint32_t order, const std::string& problem);

  bool is_paused() const { return is_ == Is::Paused; }
  // Nothing that it does or does not do now says anything about it.
  bool may_be_paused() const { return is_ == Is::PerhapsPaused || is_ == Is::Paused; }
  bool is_in_doubt() const { return is_ == Is::PerhapsRunning || is_ == Is::PerhapsPaused; }
  // Why it is not yet as it shall be.
  const std::optional<model::Problem>& problem() const { return problem_; }

  std::optional<Time> due() const;

 private:
  enum class Is { Running, PerhapsRunning, PerhapsPaused, Paused };
  struct Asked {
    model::Pausing what = model::Pausing::Running;
    std::uint32_t order = 0;
    Time overdue;
  };

  bool is_as(model::Pausing wanted) const;
  void failed(model::Pausing what, std::string message);
  void be_content();

  Is is_ = Is::Running;
  model::Pausing wanted_ = model::Pausing::Running;  // when it was last looked at
  std::uint32_t orders_ = 0;
  std::optional<Asked> asked_;  // exactly while an answer is outstanding
  std::uint32_t failures_ = 0;  // in a row
  std::optional<Time> retry_at_;
  std::optional<model::Problem> problem_;
};

}  // namespace berth::agent

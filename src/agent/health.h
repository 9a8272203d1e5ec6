#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "model/item.h"

namespace berth::agent {

// The health checks of one run: one outstanding at most, each a period after the one before, and
// not before that is answered. No answer for max(period, 10 s) after it has begun is a failure. One
// that has not begun by then only waits for others to end: it is asked for again, and says nothing.
class Health {
 public:
  enum class First {
    Counts,
    MayBeSlow,  // the run was adopted, perhaps on a machine that is just booting: if its first
                // check gets no answer, that is no failure
  };

  Health(const model::HealthCheck& check, Time now, First first);

  // Looks at the clock. True: a check is to be made now.
  bool ask(Time now);

  // The check that was asked for is made now.
  void begun(Time now);

  // An answer nobody waits for is late or repeated, and ignored.
  void answered(Time now, bool healthy, const std::string& message);

  // Whether these are the checks that are made.
  bool follows(const model::HealthCheck& check) const { return check_ == check; }

  bool has_passed() const { return has_passed_; }
  bool has_failed() const { return failed_in_a_row_ >= failures_; }
  const std::string& message() const { return message_; }  // of the last failed check

  // A check is outstanding, and its answer not yet late. Nobody waits for one that does not begin.
  bool is_waiting(Time now) const {
    return asked_ && now < due() && (has_begun_ || !is_asked_again_);
  }

  Time due() const;

 private:
  void failed(Time now, std::string message);

  model::HealthCheck check_;
  Duration period_;
  std::uint32_t failures_;
  bool forgives_silence_;
  Time forgives_until_;  // while it has not passed a check yet
  bool has_passed_ = false;
  std::uint32_t failed_in_a_row_ = 0;
  std::string message_;
  std::optional<Time> asked_;  // exactly while a check is outstanding; since it has begun, when
  bool has_begun_ = false;
  bool is_asked_again_ = false;  // because it had not begun
  Time next_;
};

}  // namespace berth::agent

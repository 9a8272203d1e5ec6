#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "control/events.h"
#include "control/rollout/trials.h"

namespace berth::control {

// A change of version that is under way: what we know beside its record.
struct Rollout {
  std::set<model::InstanceKey> turns;  // to be updated by the plan of this step
  std::map<model::InstanceKey, Trial> trials;
  std::set<model::InstanceKey> restarted;  // of an edited item: told, and on trial
  bool is_idle = false;                    // nothing more happens before a node is back
  bool look_again = false;                 // a place or a version has changed since the last look
  Time wake = kNever;
};

// When the clocks may say something else of any of its trials.
Time next_look(const Rollout& rollout);

// One review of one rollout: who is well, who has failed, whose turn it is.
class RolloutReview {
 public:
  RolloutReview(Context& context, const RequestKey& key, Rollout& rollout);

  // The first that has failed, and why; nullopt: none, and the next have got their turn.
  using Culprit = std::pair<model::InstanceKey, model::Problem>;
  std::optional<Culprit> take();

  // Nothing is left to do.
  bool is_finished() const;
  const model::RolloutRecord& record() const { return record_; }

 private:
  enum class Stage {
    Away,    // its node cannot tell us, or be told
    Old,     // has not had its turn
    Coming,  // has been told
    Active,  // and must stay so for a while
    Proven,
  };

  std::optional<Culprit> look_at_instances();
  bool is_done(const model::InstanceRecord& record) const;
  void count(const model::InstanceKey& key, Stage stage);
  Stage stage_of(const model::InstanceRecord& record);
  Stage stage_of_one_that_goes_back(const model::InstanceRecord& record) const;
  Stage judge(const model::InstanceRecord& record);
  Stage prove(const model::InstanceRecord& record);
  void forget_the_unplaced();
  void give_turns();
  void restart(const model::InstanceRecord& record);

  Context& context_;
  const RequestKey key_;
  model::RolloutRecord record_;
  Rollout& rollout_;
  std::optional<model::Problem> problem_;
  std::set<model::InstanceKey> placed_;
  std::vector<model::InstanceKey> old_;
  std::uint32_t away_ = 0;
  std::uint32_t coming_ = 0;
  std::uint32_t watched_ = 0;
};

}  // namespace berth::control

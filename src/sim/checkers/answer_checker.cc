#include <fmt/format.h>

#include <map>

#include "control/config.h"
#include "sim/checkers/checkers.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

constexpr Duration kPatience = 30s;

class AnswerChecker : public Checker {
 public:
  AnswerChecker(const World& world, Violate violate)
      : world_(world), violate_(std::move(violate)) {}

  // Callers of a controller that died know that they have to ask again.
  void controller_loaded(const control::Durable&) override {
    asked_.clear();
    accepted_.clear();
  }

  void called(const control::Event& event) override {
    if (const auto* call = std::get_if<control::ApplyCall>(&event)) ask(call->call, true);
    if (const auto* call = std::get_if<control::DeleteCall>(&event)) ask(call->call, false);
    if (const auto* call = std::get_if<control::CordonCall>(&event)) ask(call->call, false);
    if (const auto* call = std::get_if<control::DrainCall>(&event)) ask(call->call, false);
    if (const auto* call = std::get_if<control::PauseCall>(&event)) ask(call->call, false);
    if (const auto* call = std::get_if<control::RebalanceCall>(&event)) ask_in_turn(call->call);
    if (const auto* call = std::get_if<control::ForgetNodeCall>(&event)) ask(call->call, false);
  }

  void replying(const control::Reply& reply) override {
    if (const auto* finished = std::get_if<control::Finished>(&reply.answer)) {
      look_at(reply.call, *finished);
      if (accepted_.erase(reply.call) == 0) violate(reply.call, "finished before it was accepted");
      return;
    }
    const auto asked = asked_.find(reply.call);
    if (asked == asked_.end()) return violate(reply.call, "answered twice, or never asked");
    const bool accepted = std::holds_alternative<control::Accepted>(reply.answer);
    if (accepted) {
      accepted_[reply.call] = asked->second;
      accepted_[reply.call].when = world_.now();
    }
    asked_.erase(asked);
  }

  void ticked() override {
    if (world_.controller() == nullptr) return;
    for (const auto& [call, ask] : asked_) {
      const Time since = std::max(ask.when, world_.controller_calm_since());
      if (world_.now() - since > ask.patience) violate(call, "not answered");
    }
    const Duration longest = control::Config{}.run_timeout + kPatience;
    for (const auto& [call, ask] : accepted_) {
      if (ask.is_apply && world_.now() - ask.when > longest) {
        violate(call, "accepted and not finished");
      }
    }
  }

 private:
  struct Ask {
    Time when;
    bool is_apply = false;
    Duration patience = kPatience;
  };

  void ask(control::CallId call, bool is_apply) { asked_[call] = {world_.now(), is_apply}; }

  // Rebalances wait for those before them, until what these moved has been measured.
  void ask_in_turn(control::CallId call) {
    const control::Config config;
    const auto turns = static_cast<int>(config.rebalances_max) + 1;
    asked_[call] = {world_.now(), true,
                    kPatience + turns * (config.run_timeout + config.usage_window)};
  }

  // It is over in time only if there is nothing left to wait for.
  void look_at(control::CallId call, const control::Finished& finished) {
    if (finished.timed_out || finished.superseded_by) return;
    for (const model::InstanceStatus& status : finished.statuses) {
      const bool has_failed = status.state == model::InstanceState::Failed;
      if (!status.place || status.proven || status.away || has_failed) continue;
      violate(call, "finished, but " + model::to_string(status.key) + " is not proven");
    }
  }

  void violate(control::CallId call, const std::string& what) {
    violate_("answer", fmt::format("call {}: {}", call, what));
  }

  const World& world_;
  Violate violate_;
  std::map<control::CallId, Ask> asked_;
  std::map<control::CallId, Ask> accepted_;  // since when
};

}  // namespace

CheckerPtr answer_checker(const World& world, Violate violate) {
  return std::make_unique<AnswerChecker>(world, std::move(violate));
}

}  // namespace berth::sim

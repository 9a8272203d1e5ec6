#include <fmt/format.h>

#include <map>
#include <set>

#include "control/controller.h"
#include "sim/checkers/checkers.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

// A call takes so long to reach the core, and its deadline to wake it.
constexpr Duration kSlack = 5ms;
// While its disk is in trouble the controller cannot step on for ever; then it catches up.
constexpr Duration kCatchesUpWithin = 90s;

// Every open call is answered by its deadline, every close call in the end. Who asks again for a
// session has to wait for the deadline of that.
class SessionAnswerChecker : public Checker {
 public:
  SessionAnswerChecker(const World& world, Violate violate)
      : world_(world), violate_(std::move(violate)) {}

  void called(const control::Event& event) override {
    if (const auto* gone = std::get_if<control::SessionCallerGone>(&event))
      asked_.erase(gone->call);
    if (const auto* close = std::get_if<control::CloseSessionCall>(&event)) {
      asked_.emplace(close->call, Asked{world_.now(), {}});
    }
    if (const auto* open = std::get_if<control::OpenSessionCall>(&event)) {
      asked_.emplace(open->call, Asked{world_.now(), deadline_of(*open)});
    }
  }

  void replying(const control::SessionReply& reply) override {
    const auto asked = asked_.find(reply.call);
    if (asked == asked_.end()) return;
    look_at(reply.call, asked->second);
    asked_.erase(asked);
  }

  void ticked() override {
    if (!world_.controller_host().up()) return asked_.clear();
    forget_callers_of_the_dead();
    for (const auto& [call, asked] : asked_) look_at(call, asked);
  }

  void rested() override {
    forget_callers_of_the_dead();
    for (const auto& [call, asked] : asked_) violate(call, "is never answered");
  }

 private:
  struct Asked {
    Time when;
    std::optional<Time> deadline;  // nullopt: in the end
  };

  std::optional<Time> deadline_of(const control::OpenSessionCall& call) {
    const auto name = std::pair(to_string(call.application), call.name);
    const auto request = std::pair(call.caller, call.request_id);
    const bool has_name = !call.name.empty() && !seen_.insert(name).second;
    const bool has_request = !call.request_id.empty() && !seen_.insert(request).second;
    if (has_name || has_request || world_.controller() == nullptr) return std::nullopt;
    const auto& applications = world_.controller()->durable().applications;
    const auto application = applications.find(call.application);
    if (application == applications.end()) return std::nullopt;
    return world_.now() + call.timeout.value_or(application->second.sessions.open_timeout);
  }

  // By the disk; that it was started is no excuse.
  bool was_troubled_since(Time when) const {
    const Time calm = world_.controller_calm_since();
    return calm != world_.controller_host().changed_at() && calm + kCatchesUpWithin > when;
  }

  void look_at(control::CallId call, const Asked& asked) {
    if (!asked.deadline || asked.when < world_.controller_host().changed_at()) return;
    if (world_.now() <= *asked.deadline + kSlack || was_troubled_since(asked.when)) return;
    violate(call, fmt::format("is not answered by its deadline, {} ms ago",
                              (world_.now() - *asked.deadline) / 1ms));
  }

  void forget_callers_of_the_dead() {
    std::erase_if(asked_, [&](const auto& entry) {
      return entry.second.when < world_.controller_host().changed_at();
    });
  }

  void violate(control::CallId call, const std::string& what) {
    violate_("session answer", fmt::format("call {} {}", call, what));
  }

  const World& world_;
  Violate violate_;
  std::set<std::pair<std::string, std::string>> seen_;
  std::map<control::CallId, Asked> asked_;
};

}  // namespace

CheckerPtr session_answer_checker(const World& world, Violate violate) {
  return std::make_unique<SessionAnswerChecker>(world, std::move(violate));
}

}  // namespace berth::sim

#include <fmt/format.h>

#include <map>
#include <set>

#include "control/controller.h"
#include "sim/checkers/checkers.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

// Judges by the calls that name their session, each by the first that does: of others nobody
// outside can tell which session is theirs.
class SessionOrderChecker : public Checker {
 public:
  SessionOrderChecker(const World& world, Violate violate)
      : world_(world), violate_(std::move(violate)) {}

  void called(const control::Event& event) override {
    if (const auto* gone = std::get_if<control::SessionCallerGone>(&event))
      waits_.erase(gone->call);
    const auto* call = std::get_if<control::OpenSessionCall>(&event);
    if (call == nullptr || call->name.empty()) return;
    const model::SessionKey key{call->application.ns, call->name};
    if (!seen_.insert(key).second) return;
    waits_.emplace(call->call, Waiting{call->application, key, world_.now()});
  }

  void replying(const control::SessionReply& reply) override {
    const auto served = waits_.find(reply.call);
    if (served == waits_.end()) return;
    const Waiting waiting = served->second;
    waits_.erase(served);
    // Callers of a controller that has died know that they have to ask again.
    std::erase_if(waits_, [&](const auto& entry) {
      return entry.second.since < world_.controller_host().changed_at();
    });
    const auto* status = std::get_if<model::SessionStatus>(&reply.answer);
    if (status == nullptr || !model::is_usable(status->state)) return;
    for (const auto& [call, other] : waits_) {
      if (call > reply.call) break;
      if (other.application == waiting.application) look_at(other, waiting);
    }
  }

 private:
  struct Waiting {
    model::ApplicationKey application;
    model::SessionKey session;
    Time since;
  };

  void look_at(const Waiting& earlier, const Waiting& served) {
    if (world_.controller() == nullptr) return;
    const auto status = world_.controller()->status_of(earlier.session);
    if (status && status->state != model::SessionState::Pending) return;
    // It had its turn, and a stranger listened at its ports.
    if (status && status->ref.incarnation > 1) return;

    violate_("session order", fmt::format("{} was asked for before {}, and still waits",
                                          to_string(earlier.session), to_string(served.session)));
  }

  const World& world_;
  Violate violate_;
  std::set<model::SessionKey> seen_;
  std::map<control::CallId, Waiting> waits_;
};

}  // namespace

CheckerPtr session_order_checker(const World& world, Violate violate) {
  return std::make_unique<SessionOrderChecker>(world, std::move(violate));
}

}  // namespace berth::sim

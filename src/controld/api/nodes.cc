#include <algorithm>

#include "controld/api/calls.h"
#include "controld/api/messages.h"
#include "shell/clock.h"

namespace berth::controld::api {
namespace {

struct SelectedNodes {
  std::uint64_t revision = 0;
  std::string held;
  std::vector<NodeView> nodes;
};

}  // namespace

void list_nodes(const Services& services, const v1::ListNodesRequest& request,
                const CallPtr& call) {
  look(
      services, call,
      [](const control::Controller& controller) {
        return SelectedNodes{revision_of(controller), controller.held().value_or(""),
                             nodes_of(controller, shell::now())};
      },
      [request, call](const SelectedNodes& selected) {
        v1::Nodes answer;
        answer.set_revision(selected.revision);
        answer.set_held(selected.held);
        for (const NodeView& view : selected.nodes) {
          const bool is_meant = request.name().empty() || view.id.value() == request.name();
          if (is_meant) *answer.add_nodes() = to_message(view);
        }
        if (answer.nodes().empty() && !request.name().empty()) {
          return call->fail(not_found("there is no node " + request.name()));
        }
        call->answer(answer_of(std::move(answer)));
      });
}

void cordon(const Services& services, const v1::NodeRequest& request, const CallPtr& call) {
  answer_with_revision(services, call, [&](control::CallId id) {
    return control::CordonCall{id, model::NodeId(request.node()), control::Scheduling::Cordoned};
  });
}

void uncordon(const Services& services, const v1::NodeRequest& request, const CallPtr& call) {
  answer_with_revision(services, call, [&](control::CallId id) {
    return control::CordonCall{id, model::NodeId(request.node()), control::Scheduling::Allowed};
  });
}

void drain(const Services& services, const v1::DrainRequest& request, const CallPtr& call) {
  if (request.deadline_ms() < 0) return call->fail(invalid_input("the deadline is negative"));
  constexpr std::int64_t kDeadlineMaxMs = 365LL * 24 * 3600 * 1000;
  if (request.deadline_ms() > kDeadlineMaxMs) {
    return call->fail(invalid_input("the deadline is more than a year away"));
  }
  answer_with_revision(services, call, [&](control::CallId id) {
    return control::DrainCall{id, model::NodeId(request.node()), request.message(),
                              std::chrono::milliseconds(request.deadline_ms())};
  });
}

void forget_node(const Services& services, const v1::NodeRequest& request, const CallPtr& call) {
  answer_with_revision(services, call, [&](control::CallId id) {
    return control::ForgetNodeCall{id, model::NodeId(request.node())};
  });
}

}  // namespace berth::controld::api

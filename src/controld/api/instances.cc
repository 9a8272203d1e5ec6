#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "codec/instance_name.h"
#include "controld/api/calls.h"
#include "controld/api/messages.h"

namespace berth::controld::api {
namespace {

struct SelectedInstances {
  std::uint64_t revision = 0;
  std::vector<InstanceView> instances;
};

bool is_meant(const InstanceView& view, const v1::ListInstancesRequest& request) {
  const model::InstanceStatus& status = view.status;
  const auto allows = [](const std::string& wanted, std::string_view value) {
    return wanted.empty() || wanted == value;
  };
  const std::string_view node = status.place ? status.place->node.value() : std::string_view();
  return allows(request.item(), status.key.item.value()) &&
         allows(request.subject(), status.key.subject.value()) && allows(request.node(), node) &&
         allows(request.state(), model::to_string(status.state));
}

Result<void> keep_named(std::vector<InstanceView>& views, const std::string& name) {
  std::set<model::InstanceKey> known;
  for (const InstanceView& view : views) known.insert(view.status.key);
  const model::InstanceKey key = TRY(codec::find_instance(name, known));
  std::erase_if(views, [&](const InstanceView& view) { return view.status.key != key; });
  return {};
}

Result<void> check_state(const std::string& state) {
  if (state.empty() || model::from_string<model::InstanceState>(state)) return {};
  return invalid_input(
      fmt::format("\"{}\" is no state (activating, active, inactive, failed, paused)", state));
}

void set_pausing(const Services& services, const v1::InstanceRequest& request, const CallPtr& call,
                 model::Pausing pausing) {
  const auto name = codec::parse_instance_name(request.instance());
  if (!name) return call->fail(name.error());
  if (!name->subject) {
    return call->fail(invalid_input(fmt::format(
        "{} names no subject; instances are named item/subject/index", name->item.value())));
  }
  answer_with_revision(services, call, [&](control::CallId id) {
    return control::PauseCall{id, {name->item, *name->subject, name->index}, pausing};
  });
}

}  // namespace

void pause_instance(const Services& services, const v1::InstanceRequest& request,
                    const CallPtr& call) {
  set_pausing(services, request, call, model::Pausing::Paused);
}

void resume_instance(const Services& services, const v1::InstanceRequest& request,
                     const CallPtr& call) {
  set_pausing(services, request, call, model::Pausing::Running);
}

void list_instances(const Services& services, const v1::ListInstancesRequest& request,
                    const CallPtr& call) {
  if (const auto checked = check_state(request.state()); !checked) {
    return call->fail(checked.error());
  }
  look(
      services, call,
      [all = request.all()](const control::Controller& controller) {
        SelectedInstances selected{revision_of(controller), instances_of(controller)};
        std::ranges::move(pool_instances_of(controller), std::back_inserter(selected.instances));
        if (all) {
          std::ranges::move(cached_instances_of(controller),
                            std::back_inserter(selected.instances));
        }
        std::ranges::stable_sort(selected.instances, {},
                                 [](const InstanceView& view) { return view.status.key; });
        return selected;
      },
      [request, call](SelectedInstances selected) {
        if (!request.name().empty()) {
          const auto kept = keep_named(selected.instances, request.name());
          if (!kept) return call->fail(kept.error());
        }
        v1::Instances answer;
        answer.set_revision(selected.revision);
        for (const InstanceView& view : selected.instances) {
          if (is_meant(view, request)) *answer.add_instances() = to_message(view);
        }
        call->answer(answer_of(std::move(answer)));
      });
}

}  // namespace berth::controld::api

#include "controld/api/calls.h"
#include "controld/api/messages.h"

namespace berth::controld::api {
namespace {

struct Preview {
  std::uint64_t revision = 0;
  bool is_held = false;
  std::vector<control::RebuiltRequest> requests;
};

Preview preview_of(const control::Controller& controller) {
  return {revision_of(controller), controller.held().has_value(), controller.rebuilt_requests()};
}

v1::Adoption to_message(const Preview& preview) {
  v1::Adoption adoption;
  adoption.set_revision(preview.revision);
  for (const control::RebuiltRequest& request : preview.requests) {
    v1::AdoptedRequest& adopted = *adoption.add_requests();
    adopted.set_item(request.item.item.value());
    adopted.set_version(request.item.version);
    adopted.set_subject(request.subject.value());
    adopted.set_instances(request.instances);
    for (const model::NodeId& node : request.nodes) adopted.add_nodes(node.value());
  }
  return adoption;
}

}  // namespace

void accept_store(const Services& services, const v1::AcceptStoreRequest&, const CallPtr& call) {
  answer_with_revision(services, call, [](control::CallId id) {
    return control::ReleaseCall{id, control::Release::Accept};
  });
}

void adopt_store(const Services& services, const v1::AdoptStoreRequest&, const CallPtr& call) {
  answer_with_revision(services, call, [](control::CallId id) {
    return control::ReleaseCall{id, control::Release::Adopt};
  });
}

void preview_adoption(const Services& services, const v1::PreviewAdoptionRequest&,
                      const CallPtr& call) {
  look(services, call, preview_of, [call](const Preview& preview) {
    if (!preview.is_held) {
      return call->fail(
          {Code::Conflict, "the control plane is not held: nothing is to be adopted"});
    }
    call->answer(answer_of(to_message(preview)));
  });
}

}  // namespace berth::controld::api

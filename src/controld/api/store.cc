#include <algorithm>

#include "controld/api/calls.h"

namespace berth::controld::api {
namespace {

constexpr std::size_t kPart = 256 << 10;

// One part after the other: who takes them slowly costs no more memory than the whole once.
void send_from(const std::shared_ptr<const std::string>& image, std::size_t at,
               const CallPtr& call) {
  if (at >= image->size()) return call->finish();
  v1::StorePart part;
  part.set_data(image->substr(at, kPart));
  if (!call->send(answer_of(std::move(part)))) return;
  call->when_drained([image, at, call] { send_from(image, at + kPart, call); });
}

}  // namespace

void back_up_store(const Services& services, const v1::BackUpStoreRequest&, const CallPtr& call) {
  if (!services.back_up_store) {
    return call->fail({Code::Unavailable, "this control plane has no store that can be copied"});
  }
  work(services, call, [&services, call] {
    auto image = services.back_up_store();
    if (!image) return call->fail(image.error());
    send_from(std::make_shared<const std::string>(std::move(*image)), 0, call);
  });
}

}  // namespace berth::controld::api

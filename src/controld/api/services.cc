#include "controld/api/services.h"

#include <atomic>

#include "berth/v1/api.pb.h"
#include "controld/api/messages.h"

namespace berth::controld::api {

void work(const Services& services, const CallPtr& call, std::function<void()> task) {
  static std::atomic<std::uint64_t> last = 0;
  if (!services.workers.submit(std::to_string(++last), std::move(task))) call->fail(busy());
}

void answer_with_revision(const Services& services, const CallPtr& call,
                          const std::function<control::Event(control::CallId)>& make) {
  services.loop.call(make, [call](const Loop::Answer& answer) {
    if (const auto* error = std::get_if<Error>(&answer)) {
      call->fail(*error);
    } else if (const auto* accepted = std::get_if<control::Accepted>(&answer)) {
      v1::Revision revision;
      revision.set_revision(accepted->revision);
      for (const control::Consequence& consequence : accepted->consequences) {
        *revision.add_consequences() = to_message(consequence);
      }
      call->answer(answer_of(std::move(revision)));
    }
    return false;
  });
}

}  // namespace berth::controld::api

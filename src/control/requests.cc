#include "control/requests.h"

#include "base/check.h"

namespace berth::control {

void Requests::add(const model::Deployment& deployment) {
  for (const model::RunRequest& run : deployment.run) {
    asked_.insert_or_assign(key_of(run), Asked{&deployment, &run});
  }
  instances_ += instances_of(deployment);
}

void Requests::remove(const model::Deployment& deployment) {
  for (const model::RunRequest& run : deployment.run) {
    const auto asked = asked_.find(key_of(run));
    if (asked != asked_.end() && asked->second.run == &run) asked_.erase(asked);
  }
  instances_ -= instances_of(deployment);
}

const Requests::Asked* Requests::find(const RequestKey& key) const {
  const auto asked = asked_.find(key);
  return asked == asked_.end() ? nullptr : &asked->second;
}

std::uint64_t instances_of(const model::Deployment& deployment) {
  std::uint64_t count = 0;
  for (const model::RunRequest& run : deployment.run) count += run.instances.value_or(0);
  return count;
}

bool has_any_version(const Durable& durable, const model::ItemId& id) {
  const auto first = durable.items.lower_bound({id, ""});
  return first != durable.items.end() && first->first.item == id;
}

const model::Item& item_of(const Durable& durable, const model::RunRequest& run) {
  const auto item = durable.items.lower_bound({run.item, run.version});
  CHECK(item != durable.items.end() && item->first.item == run.item,
        "validated documents name known items");
  return item->second;
}

}  // namespace berth::control

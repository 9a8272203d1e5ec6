#include "model/instance.h"

#include <tuple>

namespace berth::model {
namespace {

auto what_runs(const InstanceSpec& spec) {
  const Item& item = spec.item;
  return std::tie(spec.runtime, spec.image, spec.uid, spec.gid, spec.network, item.version,
                  item.images, item.args, item.env, item.quotas, item.skip_resource_limits,
                  item.shared_resources, item.health);
}

}  // namespace

bool runs_the_same(const InstanceSpec& a, const InstanceSpec& b) {
  return what_runs(a) == what_runs(b);
}

}  // namespace berth::model

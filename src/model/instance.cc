#include "model/instance.h"

#include <tuple>

namespace berth::model {
namespace {

// How its health is asked for is not part of it: that can be changed while it runs.
auto what_runs(const Item& item) {
  return std::tie(item.version, item.images, item.args, item.env, item.quotas,
                  item.skip_resource_limits, item.shared_resources);
}

auto how_it_runs(const InstanceSpec& spec) {
  return std::tie(spec.runtime, spec.image, spec.uid, spec.gid, spec.network, spec.prepare_only);
}

}  // namespace

bool runs_the_same(const InstanceSpec& a, const InstanceSpec& b) {
  return how_it_runs(a) == how_it_runs(b) && runs_the_same(a.item, b.item);
}

bool runs_the_same(const Item& a, const Item& b) { return what_runs(a) == what_runs(b); }

std::string name_of(const SavedState& state) {
  return std::to_string(state.generation) + " " + state.digest;
}

}  // namespace berth::model

#include "bench/clusters.h"

namespace berth::bench {
model::Item plain_item() {
  model::Item item;
  item.id = model::ItemId{"plain"};
  item.version = "1.0";
  item.images.push_back({.platform = {.os = "linux", .arch = "amd64"},
                         .runtimes = {},
                         .form = model::OciImage{"images/plain:1"}});
  item.request.cpu = Dmips{1};
  item.request.ram = Bytes{1 << 20};
  return item;
}

model::NodeInfo plain_node() {
  model::NodeInfo info;
  info.capacity = {Dmips{10'000'000}, Bytes{1LL << 40}};
  info.runtimes.push_back({.id = model::RuntimeId{"runc"},
                           .type = model::RuntimeType::Runc,
                           .platform = {.os = "linux", .arch = "amd64"},
                           .limits = {},
                           .primary = true});
  return info;
}

}  // namespace berth::bench

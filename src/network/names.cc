#include "network/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "runtime/files/run_directory.h"

namespace berth::network {
namespace {

// FNV-1a: names must not change with the library.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::uint32_t short_hash_of(std::string_view text) {
  const std::uint64_t hash = hash_of(text);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

MacAddress mac_of(std::uint8_t second, model::Ipv4 address) {
  const auto byte = [&](int shift) { return static_cast<std::uint8_t>(address.value >> shift); };
  return {0x02, second, byte(24), byte(16), byte(8), byte(0)};  // 02: given by us, not by a maker
}

}  // namespace

std::string earlier_tag_of(const std::string& node, const std::filesystem::path& state_dir) {
  return fmt::format("{:08x}", short_hash_of(node + '\n' + state_dir.lexically_normal().string()));
}

std::string router_namespace(const std::string& node, const std::string& tag) {
  return fmt::format("berth-{}-{}", runtime::file_name_of(node), tag);
}

std::string instance_namespace_prefix(const std::string& tag) {
  return fmt::format("berth-{}-", tag);
}

std::string instance_namespace(const std::string& tag, const model::InstanceKey& key) {
  std::string name = runtime::file_name_of(key);
  std::ranges::replace(name, ',', '+');  // runc takes a comma for the end of the path
  return instance_namespace_prefix(tag) + name;
}

std::string host_device(const std::string& tag) { return kHostDevicePrefix + tag; }

std::string bridge_device(std::uint32_t vxlan) { return fmt::format("{}{}", kBridgePrefix, vxlan); }

std::string tunnel_device(std::uint32_t vxlan) { return fmt::format("{}{}", kTunnelPrefix, vxlan); }

std::string instance_device(const std::string& instance_namespace) {
  return fmt::format("{}{:013x}", kInstanceDevicePrefix, hash_of(instance_namespace) >> 12);
}

MacAddress mac_of_instance(model::Ipv4 address) { return mac_of(0xbe, address); }

MacAddress mac_of_bridge(model::Ipv4 node_address) { return mac_of(0xbf, node_address); }

std::string to_string(const MacAddress& mac) { return fmt::format("{:02x}", fmt::join(mac, ":")); }

std::uint32_t first_pair(const std::string& tag, std::uint32_t pairs) {
  return pairs == 0 ? 0 : short_hash_of(tag) % pairs;
}

}  // namespace berth::network

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/quantity.h"
#include "base/time.h"
#include "model/ids.h"
#include "model/names.h"
#include "model/runtime.h"

// What can run: an item, in one version.
namespace berth::model {

enum class ItemType { Service, Component, Function };

template <>
struct Names<ItemType> {
  static constexpr std::string_view kWhat = "item type";
  static constexpr std::array kTable{
      Word<ItemType>{ItemType::Service, "service"},
      Word<ItemType>{ItemType::Component, "component"},
      Word<ItemType>{ItemType::Function, "function"},
  };
};

// The forms an image can have. The form decides which runtime types can run it.
struct OciImage {
  std::string reference;
  friend bool operator==(const OciImage&, const OciImage&) = default;
};
struct CommandImage {
  std::vector<std::string> argv;
  friend bool operator==(const CommandImage&, const CommandImage&) = default;
};
struct WasmImage {
  std::string module;
  friend bool operator==(const WasmImage&, const WasmImage&) = default;
};
struct VmImage {
  std::string kernel;
  std::string initrd;
  std::string disk;
  std::string cmdline;
  friend bool operator==(const VmImage&, const VmImage&) = default;
};
struct RootfsImage {
  std::string archive;
  friend bool operator==(const RootfsImage&, const RootfsImage&) = default;
};
struct BootImage {
  std::string image;
  friend bool operator==(const BootImage&, const BootImage&) = default;
};
struct FirmwareImage {
  std::vector<std::string> install;
  std::vector<std::string> activate;
  std::vector<std::string> revert;
  friend bool operator==(const FirmwareImage&, const FirmwareImage&) = default;
};

using ImageForm =
    std::variant<OciImage, CommandImage, WasmImage, VmImage, RootfsImage, BootImage, FirmwareImage>;

struct Image {
  Platform platform;
  std::vector<RuntimeType> runtimes;  // empty: the item's list, else by the form
  ImageForm form;

  friend bool operator==(const Image&, const Image&) = default;
};

// The runtime types that can run an image of this form, in order of preference.
std::vector<RuntimeType> runtime_types_of(const ImageForm& form);

// Amounts of the four metered resources, each given or not.
struct ResourceSpec {
  std::optional<Dmips> cpu;
  std::optional<Bytes> ram;
  std::optional<Bytes> storage;
  std::optional<Bytes> state;

  friend bool operator==(const ResourceSpec&, const ResourceSpec&) = default;
};

enum class Balancing { Enabled, Disabled };

template <>
struct Names<Balancing> {
  static constexpr std::string_view kWhat = "balancing policy";
  static constexpr std::array kTable{
      Word<Balancing>{Balancing::Enabled, "enabled"},
      Word<Balancing>{Balancing::Disabled, "disabled"},
  };
};

enum class MovePolicy { MakeBeforeBreak, StopFirst };

template <>
struct Names<MovePolicy> {
  static constexpr std::string_view kWhat = "move policy";
  static constexpr std::array kTable{
      Word<MovePolicy>{MovePolicy::MakeBeforeBreak, "makeBeforeBreak"},
      Word<MovePolicy>{MovePolicy::StopFirst, "stopFirst"},
  };
};

// How the state of an instance goes with it to its next place.
enum class StateMove {
  HandOver,  // the copy that it leaves is stopped first: nothing is lost on the way
  LastCopy,  // the last one that was reported goes along, and nothing is stopped for that
};

template <>
struct Names<StateMove> {
  static constexpr std::string_view kWhat = "way for a state to move";
  static constexpr std::array kTable{
      Word<StateMove>{StateMove::HandOver, "handOver"},
      Word<StateMove>{StateMove::LastCopy, "lastCopy"},
  };
};

enum class Toleration { RuntimeNotReady, NodeNotReady };

template <>
struct Names<Toleration> {
  static constexpr std::string_view kWhat = "toleration";
  static constexpr std::array kTable{
      Word<Toleration>{Toleration::RuntimeNotReady, "runtimeNotReady"},
      Word<Toleration>{Toleration::NodeNotReady, "nodeNotReady"},
  };
};

enum class Protocol { Tcp, Udp };

template <>
struct Names<Protocol> {
  static constexpr std::string_view kWhat = "protocol";
  static constexpr std::array kTable{
      Word<Protocol>{Protocol::Tcp, "tcp"},
      Word<Protocol>{Protocol::Udp, "udp"},
  };
};

// "8080/tcp"; the protocol is tcp if left out.
struct Port {
  std::uint16_t number = 0;
  Protocol protocol = Protocol::Tcp;
  friend bool operator==(const Port&, const Port&) = default;
};

// "broker/1883/tcp": this item's instances may reach that port of the other item's.
struct AllowedConnection {
  ItemId item;
  Port port;
  friend bool operator==(const AllowedConnection&, const AllowedConnection&) = default;
};

struct ExecCheck {
  std::vector<std::string> argv;
  friend bool operator==(const ExecCheck&, const ExecCheck&) = default;
};
struct TcpCheck {
  std::uint16_t port = 0;
  friend bool operator==(const TcpCheck&, const TcpCheck&) = default;
};
struct HttpCheck {
  std::uint16_t port = 0;
  std::string path = "/";
  friend bool operator==(const HttpCheck&, const HttpCheck&) = default;
};

// An instance with a health check is active once a check passed, and is restarted after
// `failures` failed ones in a row.
struct HealthCheck {
  std::variant<ExecCheck, TcpCheck, HttpCheck> probe;
  Duration period = 5s;
  std::uint32_t failures = 3;
  Duration start_period{};  // in which failures do not count, until the first check has passed
  friend bool operator==(const HealthCheck&, const HealthCheck&) = default;
};

enum class RestartMode { Always, OnFailure, Never };

template <>
struct Names<RestartMode> {
  static constexpr std::string_view kWhat = "restart policy";
  static constexpr std::array kTable{
      Word<RestartMode>{RestartMode::Always, "always"},
      Word<RestartMode>{RestartMode::OnFailure, "onFailure"},
      Word<RestartMode>{RestartMode::Never, "never"},
  };
};

// The n-th restart in a row waits backoff * 2^n, at most backoff_max.
struct RestartPolicy {
  RestartMode mode = RestartMode::Always;
  Duration backoff = 1s;
  Duration backoff_max = 60s;
  friend bool operator==(const RestartPolicy&, const RestartPolicy&) = default;
};

// Usage in percent of a whole. Above max for the timeout is too much; below min for it is well
// again.
struct ThresholdRule {
  std::uint32_t min = 75;
  std::uint32_t max = 85;
  Duration timeout = 60s;
  friend bool operator==(const ThresholdRule&, const ThresholdRule&) = default;
};

struct Thresholds {
  std::optional<ThresholdRule> cpu;
  std::optional<ThresholdRule> ram;
  friend bool operator==(const Thresholds&, const Thresholds&) = default;
};

struct Item {
  ItemId id;
  ItemType type = ItemType::Service;
  std::string version;
  OwnerId owner{"default"};
  std::vector<RuntimeType> runtimes;  // empty: by the form of each image
  std::vector<Image> images;          // the first that can be placed is used
  std::vector<std::string> args;
  std::map<std::string, std::string> env;
  ResourceSpec quotas;
  ResourceSpec request;
  bool skip_resource_limits = false;
  std::vector<std::string> shared_resources;
  Balancing balancing = Balancing::Enabled;
  MovePolicy move = MovePolicy::MakeBeforeBreak;
  StateMove state_move = StateMove::HandOver;
  std::set<Toleration> tolerates;
  std::vector<Port> ports;
  std::vector<AllowedConnection> allowed_connections;
  std::vector<std::string> hosts;
  std::optional<HealthCheck> health;
  // Without a check: it is well when it has been active for so long. Nullopt: for as long as the
  // control plane says.
  std::optional<Duration> min_healthy;
  RestartPolicy restart;
  Thresholds alerts;

  friend bool operator==(const Item&, const Item&) = default;
};

inline ItemKey key_of(const Item& item) { return {item.id, item.version}; }

// The runtime types that may run this image, in order of preference: the image's list, else the
// item's, else by the image's form.
std::vector<RuntimeType> runtime_types_of(const Item& item, const Image& image);

// A pinned instance stays where it was placed: rebalancing and displacement never move it.
bool is_pinned(const Item& item);

// Whether room is set aside for the state of its instances: they are made to keep one.
bool keeps_state(const Item& item);

// Whether an instance that moves is stopped first and goes on from the very last of its state.
bool hands_state_over(const Item& item);

}  // namespace berth::model

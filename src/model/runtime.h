#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "base/quantity.h"
#include "base/time.h"
#include "model/ids.h"
#include "model/names.h"

namespace berth::model {

enum class RuntimeType { Crun, Runc, Process, Wasm, Vm, Rootfs, Boot, Firmware };

template <>
struct Names<RuntimeType> {
  static constexpr std::string_view kWhat = "runtime type";
  static constexpr std::array kTable{
      Word<RuntimeType>{RuntimeType::Crun, "crun"},
      Word<RuntimeType>{RuntimeType::Runc, "runc"},
      Word<RuntimeType>{RuntimeType::Process, "process"},
      Word<RuntimeType>{RuntimeType::Wasm, "wasm"},
      Word<RuntimeType>{RuntimeType::Vm, "vm"},
      Word<RuntimeType>{RuntimeType::Rootfs, "rootfs"},
      Word<RuntimeType>{RuntimeType::Boot, "boot"},
      Word<RuntimeType>{RuntimeType::Firmware, "firmware"},
  };
};

// What a runtime is for; follows from its type.
enum class RuntimeKind { Container, Vm, Function, Component };

template <>
struct Names<RuntimeKind> {
  static constexpr std::string_view kWhat = "runtime kind";
  static constexpr std::array kTable{
      Word<RuntimeKind>{RuntimeKind::Container, "container"},
      Word<RuntimeKind>{RuntimeKind::Vm, "vm"},
      Word<RuntimeKind>{RuntimeKind::Function, "function"},
      Word<RuntimeKind>{RuntimeKind::Component, "component"},
  };
};

RuntimeKind kind_of(RuntimeType type);

// What an image needs, or a runtime offers. Empty = not named.
struct Platform {
  std::string os;
  std::string arch;
  std::string variant;
  std::string os_version;
  std::set<std::string> os_features;

  friend bool operator==(const Platform&, const Platform&) = default;
};

// Whether a runtime was able to start and connect instances when last asked.
enum class Readiness { Ready, NotReady, Unknown };

template <>
struct Names<Readiness> {
  static constexpr std::string_view kWhat = "readiness";
  static constexpr std::array kTable{
      Word<Readiness>{Readiness::Ready, "Ready"},
      Word<Readiness>{Readiness::NotReady, "NotReady"},
      Word<Readiness>{Readiness::Unknown, "Unknown"},
  };
};

// A runtime's own share of its node; 0 = no cap.
struct RuntimeLimits {
  Dmips cpu;
  Bytes ram;
  std::uint32_t instances = 0;

  friend bool operator==(const RuntimeLimits&, const RuntimeLimits&) = default;
};

struct Runtime {
  RuntimeId id;
  RuntimeType type = RuntimeType::Runc;
  Platform platform;
  RuntimeLimits limits;
  bool primary = false;
  Readiness ready = Readiness::Ready;
  std::string reason;   // why it is not Ready, one CamelCase token for programs
  std::string message;  // the same for people; of a Ready one what they should know
  Duration grace = 3s;  // not being Ready for a shorter time changes no condition

  friend bool operator==(const Runtime&, const Runtime&) = default;
};

}  // namespace berth::model

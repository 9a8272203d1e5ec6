#pragma once

#include <string>

#include "base/time.h"
#include "model/names.h"
#include "model/runtime.h"

// What can be said of a node's readiness, as Arktos and Kubernetes say it.
namespace berth::model {

enum class ConditionType {
  Ready,  // of the node: its primary runtime is
  ContainerRuntimeReady,
  VmRuntimeReady,
  FunctionRuntimeReady,
  ComponentRuntimeReady,
};

template <>
struct Names<ConditionType> {
  static constexpr std::string_view kWhat = "condition";
  static constexpr std::array kTable{
      Word<ConditionType>{ConditionType::Ready, "Ready"},
      Word<ConditionType>{ConditionType::ContainerRuntimeReady, "ContainerRuntimeReady"},
      Word<ConditionType>{ConditionType::VmRuntimeReady, "VmRuntimeReady"},
      Word<ConditionType>{ConditionType::FunctionRuntimeReady, "FunctionRuntimeReady"},
      Word<ConditionType>{ConditionType::ComponentRuntimeReady, "ComponentRuntimeReady"},
  };
};

// The condition that tells of the runtimes of a kind.
ConditionType condition_of(RuntimeKind kind);

enum class ConditionStatus { True, False, Unknown };

template <>
struct Names<ConditionStatus> {
  static constexpr std::string_view kWhat = "status of a condition";
  static constexpr std::array kTable{
      Word<ConditionStatus>{ConditionStatus::True, "True"},
      Word<ConditionStatus>{ConditionStatus::False, "False"},
      Word<ConditionStatus>{ConditionStatus::Unknown, "Unknown"},
  };
};

ConditionStatus status_of(Readiness readiness);

// What is kept of a condition over restarts of the controller. Dates count from 1970.
struct KeptCondition {
  ConditionType type = ConditionType::Ready;
  ConditionStatus status = ConditionStatus::Unknown;
  Duration changed_at{};

  friend bool operator==(const KeptCondition&, const KeptCondition&) = default;
};

// The same of a runtime's readiness after its grace.
struct KeptReadiness {
  RuntimeId runtime;
  Readiness graced = Readiness::Unknown;
  Duration changed_at{};
  bool has_been_ready = false;

  friend bool operator==(const KeptReadiness&, const KeptReadiness&) = default;
};

}  // namespace berth::model

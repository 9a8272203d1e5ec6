#include "agentd/state_keeper.h"

#include <utility>

#include "codec/wire.h"
#include "shell/log.h"
#include "trust/digest.h"

namespace berth::agentd {
namespace {

// What cannot go over the wire needs not be packed.
constexpr runtime::TreeLimits kLimits{.bytes = codec::WireLimits::kStateBytesMax,
                                      .entries = 10'000};

}  // namespace

std::optional<agent::StateSaved> StateKeeper::look(const model::InstanceKey& key) {
  const auto directory = runtime::state_directory(machine_.state_dir, key);
  runtime::TreeFigures figures;
  std::uint64_t order = 0;
  {
    const std::lock_guard lock(mutex_);
    figures = runtime::look_at_tree(directory, kLimits);
    order = ++looks_;
    const auto known = seen_.find(key);
    const bool is_unused = known == seen_.end() && figures.entries == 0;
    if (is_unused || (known != seen_.end() && known->second == figures)) return std::nullopt;
    seen_.insert_or_assign(key, figures);
  }
  // Before it is read: what is put there meanwhile is looked at again.
  agent::StateSaved saved{.key = key,
                          .size = figures.size,
                          .order = order,
                          .goes_on_from = runtime::taken_state(machine_.state_dir, key)};
  auto packed = runtime::pack_tree(directory, kLimits);
  if (!packed) {
    shell::log(shell::LogLevel::Warning, "the state of an instance cannot be read",
               {{"instance", model::to_string(key)}, {"error", packed.error().message}});
    return std::nullopt;
  }
  if (!*packed) return saved;
  saved.content = **std::move(packed);
  saved.digest = trust::sha256(saved.content);
  return saved;
}

runtime::Started<void> StateKeeper::take(const model::InstanceSpec& spec,
                                         const model::SavedState& state) {
  if (trust::sha256(state.content) != state.digest) {
    return tl::unexpected(model::Problem{
        "StateDamaged", "the state that came for it is not what its digest says; it is not used"});
  }
  const auto taken = runtime::take_state(machine_, spec, state);
  // What is there now is said, also if that is what was there before: it was taken an earlier time,
  // and is not what its node was told that it has.
  begin(spec.key);
  return taken;
}

void StateKeeper::begin(const model::InstanceKey& key) {
  const std::lock_guard lock(mutex_);
  seen_.erase(key);
}

}  // namespace berth::agentd

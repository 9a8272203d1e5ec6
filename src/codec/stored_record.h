#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// What the stores of berthd and berth-agent hold, for who looks at them from outside.
namespace berth::codec {

// Why the daemon could not read this record; nullopt: it can, or the key is none that is known
// here: daemons keep more than records, and newer ones more than older ones.
std::optional<std::string> flaw_of_stored(std::string_view key, std::string_view value);

// Whose record it is by its key; nullopt: the key is none that is known here.
enum class StoreOwner { ControlPlane, Agent };
std::optional<StoreOwner> owner_of_stored(std::string_view key);

// The revision of the control plane, if this is the record that holds it.
std::optional<std::uint64_t> revision_in(std::string_view key, std::string_view value);

// The key of the authority's certificate in the store of the control plane. An empty value: the
// authority was given up, and a new one may be made.
inline constexpr std::string_view kAuthorityKey = "authority";

// The key in the store of an agent that is there, with an empty value, as long as the agent is in
// doubt. Whoever puts another store in the place of its own puts it there.
inline constexpr std::string_view kDoubtKey = "doubt";

}  // namespace berth::codec

#pragma once

#include <string>

// The rules of a gateway, as text of nftables. They never change while the gateway lives: what it
// opens and closes are elements of their sets and maps. Each text is one transaction and leaves
// elements that are there already alone.
namespace berth::session {

namespace sets {

// Maps, to where it is forwarded: of an address of the machine, or of all that it has.
inline constexpr char kTargets[] = "targets";         // address . protocol . port
inline constexpr char kAnyTargets[] = "any_targets";  // protocol . port
// Whom nobody new may use any more. What comes there is refused, as if nobody listened.
inline constexpr char kRefused[] = "refused";
inline constexpr char kAnyRefused[] = "any_refused";
// By protocol, port and target: connections that are ours, counted as they come in and go out, and
// those that were cut: their packets are refused, from wherever they come.
inline constexpr char kLive[] = "live";
inline constexpr char kSent[] = "sent";
inline constexpr char kCut[] = "cut";

}  // namespace sets

// On the machine, where clients come.
std::string gateway_rules(const std::string& table);
// In the network namespace that the instances' own networks hang on, for what comes from there.
std::string inner_gateway_rules(const std::string& table);
std::string no_gateway_rules(const std::string& table);

// What the kernel does by itself unless connections may be forwarded to its loopback: nothing comes
// from outside to such an address, and nothing leaves with one. It is one table for all agents of
// the machine, and stays as long as the setting does.
std::string loopback_rules();

}  // namespace berth::session

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controld/api/call.h"

namespace google::protobuf {
class MethodDescriptor;
}  // namespace google::protobuf

// The one table of calls. Both fronts route and authorise by it, and the OpenAPI document is made
// of it; what a call takes and gives is in the descriptors of the messages.
namespace berth::controld::api {

struct Services;

enum class Access {
  Anyone,   // also without a certificate
  Known,    // whoever has a certificate of this unit
  Viewers,  // viewers and admins
  Clients,  // clients in their namespaces, admins, and viewers if it only looks
  Admins,
};
enum class Effect { Reads, Changes };

// A way to the call by HTTP. "{name}" in the path is a field of the request; "{name...}" may hold
// slashes. `fixed` is a field that this way sets.
struct Route {
  std::string_view verb;
  std::string path;
  std::pair<std::string_view, std::string_view> fixed = {};
};

struct Method {
  using Run = void (*)(const Services&, const Message&, const CallPtr&);

  std::string_view name;
  Access access = Access::Admins;
  Effect effect = Effect::Changes;
  std::vector<Route> routes;
  std::size_t body_max = 0;  // bytes
  Run run = nullptr;
  const google::protobuf::MethodDescriptor* descriptor = nullptr;
};

std::span<const Method> methods();

// Nullptr: there is none of this name.
const Method* find_method(std::string_view name);

// Whether the caller may.
enum class Refusal { None, NoIdentity, NotAllowed };
Refusal refusal_of(const Caller& caller, const Method& method);

// Of a call for clients: whether it may be about this namespace. The call itself has to ask.
bool may_use_namespace(const Caller& caller, std::string_view ns);

// --- Routing of HTTP.

struct Match {
  const Method* method = nullptr;
  const Route* route = nullptr;
  std::vector<std::pair<std::string, std::string>> fields;  // from the path, decoded
};
struct Routed {
  std::vector<Match> matches;  // at most one
  bool path_is_known = false;  // but not with this verb
};
Routed route(std::string_view verb, std::string_view path);

// "%2F" and the like; nullopt if that is not well-formed.
std::optional<std::string> percent_decoded(std::string_view text);

// Sets a field from text, as paths and queries have it. `name` is the JSON name.
Result<void> set_field(Message& message, std::string_view name, std::string_view text);

// One table for all fronts.
int http_status_of(Code code);
std::string_view name_of(Code code);  // "InvalidInput"

}  // namespace berth::controld::api

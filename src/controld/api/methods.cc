#include "controld/api/methods.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/check.h"
#include "base/suggest.h"
#include "controld/api/calls.h"
#include "model/document.h"

namespace berth::controld::api {
namespace {

constexpr std::size_t kSmall = 1 << 20;
constexpr std::size_t kPlan = 8 << 20;  // as much as gRPC takes
constexpr std::size_t kLarge = 64 << 20;

template <class Request>
using Implementation = void (*)(const Services&, const Request&, const CallPtr&);

// The implementation, for callers who do not know the type of its request.
template <class Request, Implementation<Request> kImplementation>
void run(const Services& services, const Message& request, const CallPtr& call) {
  kImplementation(services, static_cast<const Request&>(request), call);
}

const google::protobuf::MethodDescriptor* descriptor_of(const std::string& name) {
  const auto* file = v1::ApplyRequest::descriptor()->file();
  return file->FindServiceByName("Berth")->FindMethodByName(name);
}

std::string path_to_all(const model::DocumentKind& kind) {
  return "/v1/" + std::string(kind.plural);
}

// One in a namespace is named by both.
std::string path_to_one(const model::DocumentKind& kind) {
  return path_to_all(kind) + (kind.has_namespace ? "/{name...}" : "/{name}");
}

std::vector<Route> routes_to_list() {
  std::vector<Route> routes;
  for (const model::DocumentKind& kind : model::document_kinds()) {
    if (!kind.is_kept) continue;
    routes.push_back({"GET", path_to_all(kind), {"kind", kind.name}});
    routes.push_back({"GET", path_to_one(kind), {"kind", kind.name}});
  }
  return routes;
}

std::vector<Route> routes_to_delete() {
  std::vector<Route> routes;
  for (const model::DocumentKind& kind : model::document_kinds()) {
    if (kind.is_kept) routes.push_back({"DELETE", path_to_one(kind), {"kind", kind.name}});
  }
  routes.push_back({"DELETE", "/v1/instances/{name...}", {"kind", "Instance"}});
  return routes;
}

std::vector<Method> make_methods() {
  using enum Access;
  using enum Effect;
  std::vector<Method> table{
      {"Apply", Admins, Changes, {{"POST", "/v1/apply"}}, kLarge, run<v1::ApplyRequest, apply>},
      {"Plan", Viewers, Reads, {{"POST", "/v1/plan"}}, kPlan, run<v1::PlanRequest, plan>},
      {"Why", Viewers, Reads, {{"GET", "/v1/why/{instance...}"}}, 0, run<v1::WhyRequest, why>},
      {"GetCluster",
       Viewers,
       Reads,
       {{"GET", "/v1/cluster"}},
       0,
       run<v1::GetClusterRequest, get_cluster>},
      {"ListDocuments", Viewers, Reads, routes_to_list(), 0,
       run<v1::ListDocumentsRequest, list_documents>},
      {"ListInstances",
       Viewers,
       Reads,
       {{"GET", "/v1/instances"}},
       0,
       run<v1::ListInstancesRequest, list_instances>},
      {"ListNodes",
       Viewers,
       Reads,
       {{"GET", "/v1/nodes"}, {"GET", "/v1/nodes/{name}"}},
       0,
       run<v1::ListNodesRequest, list_nodes>},
      {"ListEvents",
       Viewers,
       Reads,
       {{"GET", "/v1/events"}},
       0,
       run<v1::ListEventsRequest, list_events>},
      {"Watch", Viewers, Reads, {{"GET", "/v1/watch"}}, 0, run<v1::WatchRequest, watch>},
      {"Delete", Admins, Changes, routes_to_delete(), kSmall,
       run<v1::DeleteRequest, delete_document>},
      {"Cordon",
       Admins,
       Changes,
       {{"POST", "/v1/nodes/{node}/cordon"}},
       kSmall,
       run<v1::NodeRequest, cordon>},
      {"Uncordon",
       Admins,
       Changes,
       {{"POST", "/v1/nodes/{node}/uncordon"}},
       kSmall,
       run<v1::NodeRequest, uncordon>},
      {"Drain",
       Admins,
       Changes,
       {{"POST", "/v1/nodes/{node}/drain"}},
       kSmall,
       run<v1::DrainRequest, drain>},
      {"PauseInstance",
       Admins,
       Changes,
       {{"POST", "/v1/instances/{instance...}/pause"}},
       kSmall,
       run<v1::InstanceRequest, pause_instance>},
      {"ResumeInstance",
       Admins,
       Changes,
       {{"POST", "/v1/instances/{instance...}/resume"}},
       kSmall,
       run<v1::InstanceRequest, resume_instance>},
      {"Rebalance",
       Admins,
       Changes,
       {{"POST", "/v1/rebalance"}},
       kSmall,
       run<v1::RebalanceRequest, rebalance>},
      {"ForgetNode",
       Admins,
       Changes,
       {{"DELETE", "/v1/nodes/{node}"}},
       kSmall,
       run<v1::NodeRequest, forget_node>},
      {"OpenSession",
       Clients,
       Changes,
       {{"POST", "/v1/namespaces/{namespace}/applications/{application}/sessions"}},
       kSmall,
       run<v1::OpenSessionRequest, open_session>},
      {"OpenSessions", Clients, Changes, {}, 0, run<v1::OpenSessionsRequest, open_sessions>},
      {"CloseSession",
       Clients,
       Changes,
       {{"DELETE", "/v1/namespaces/{namespace}/sessions/{name}"}},
       kSmall,
       run<v1::CloseSessionRequest, close_session>},
      {"GetSession",
       Clients,
       Reads,
       {{"GET", "/v1/namespaces/{namespace}/sessions/{name}"}},
       0,
       run<v1::GetSessionRequest, get_session>},
      {"ListSessions",
       Clients,
       Reads,
       {{"GET", "/v1/sessions"},
        {"GET", "/v1/namespaces/{namespace}/sessions"},
        {"GET", "/v1/namespaces/{namespace}/applications/{application}/sessions"}},
       0,
       run<v1::ListSessionsRequest, list_sessions>},
      {"Logs",
       Viewers,
       Reads,
       {{"GET", "/v1/instances/{instance...}/logs"}},
       0,
       run<v1::LogsRequest, logs>},
      {"Exec",
       Admins,
       Changes,
       {{"GET", "/v1/instances/{instance...}/exec"}},
       0,
       run<v1::ExecInput, exec>},
      {"AcceptStore",
       Admins,
       Changes,
       {{"POST", "/v1/store/accept"}},
       kSmall,
       run<v1::AcceptStoreRequest, accept_store>},
      {"AdoptStore",
       Admins,
       Changes,
       {{"POST", "/v1/store/adopt"}},
       kSmall,
       run<v1::AdoptStoreRequest, adopt_store>},
      {"PreviewAdoption",
       Viewers,
       Reads,
       {{"GET", "/v1/store/adoption"}},
       0,
       run<v1::PreviewAdoptionRequest, preview_adoption>},
      {"CreateJoinToken",
       Admins,
       Changes,
       {{"POST", "/v1/join-tokens"}},
       kSmall,
       run<v1::CreateJoinTokenRequest, create_join_token>},
      {"BackUpStore",
       Admins,
       Changes,  // nothing, but what it gives is not for viewers
       {{"POST", "/v1/store/backup"}},
       kSmall,
       run<v1::BackUpStoreRequest, back_up_store>},
      {"Join", Anyone, Changes, {{"POST", "/v1/join"}}, kSmall, run<v1::JoinRequest, join>},
      {"GetVersion",
       Anyone,
       Reads,
       {{"GET", "/v1/version"}},
       0,
       run<v1::GetVersionRequest, get_version>},
  };
  for (Method& method : table) method.descriptor = descriptor_of(std::string(method.name));
  return table;
}

std::string_view take_segment(std::string_view& path) {
  const std::size_t slash = path.find('/');
  const std::string_view segment = path.substr(0, slash);
  path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  return segment;
}

using Fields = std::vector<std::pair<std::string, std::string>>;

bool take_field(std::string_view name, std::string_view text, Fields& fields) {
  auto decoded = percent_decoded(text);
  if (!decoded || decoded->empty()) return false;
  fields.emplace_back(name, std::move(*decoded));
  return true;
}

bool matches(std::string_view pattern, std::string_view path, Fields& fields) {
  if (path.ends_with('/')) return false;
  while (!pattern.empty()) {
    const std::string_view wanted = take_segment(pattern);
    if (wanted.ends_with("...}")) {  // all up to what must follow
      const std::string rest = pattern.empty() ? "" : "/" + std::string(pattern);
      if (!path.ends_with(rest)) return false;
      path.remove_suffix(rest.size());
      return take_field(wanted.substr(1, wanted.size() - 5), path, fields);
    }
    const std::string_view given = take_segment(path);
    if (wanted.starts_with('{')) {
      if (!take_field(wanted.substr(1, wanted.size() - 2), given, fields)) return false;
    } else if (wanted != given) {
      return false;
    }
  }
  return path.empty();
}

template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && stopped == text.data() + text.size();
}

}  // namespace

std::span<const Method> methods() {
  static const std::vector<Method> table = make_methods();
  return table;
}

const Method* find_method(std::string_view name) {
  const auto found = std::ranges::find(methods(), name, &Method::name);
  return found == methods().end() ? nullptr : &*found;
}

Refusal refusal_of(const Caller& caller, const Method& method) {
  if (method.access == Access::Anyone) return Refusal::None;
  if (!caller.identity) return Refusal::NoIdentity;
  const trust::Role role = caller.identity->role;
  const bool for_clients = method.access == Access::Clients;
  const bool for_viewers =
      method.access == Access::Viewers || (for_clients && method.effect == Effect::Reads);
  const bool allowed = role == trust::Role::Admin || method.access == Access::Known ||
                       (role == trust::Role::Viewer && for_viewers) ||
                       (role == trust::Role::Client && for_clients);
  return allowed ? Refusal::None : Refusal::NotAllowed;
}

bool may_use_namespace(const Caller& caller, std::string_view ns) {
  if (!caller.identity) return false;
  if (caller.identity->role != trust::Role::Client) return true;
  return std::ranges::find(caller.identity->namespaces, ns) != caller.identity->namespaces.end();
}

Routed route(std::string_view verb, std::string_view path) {
  Routed routed;
  for (const Method& method : methods()) {
    for (const Route& candidate : method.routes) {
      Fields fields;
      if (!matches(candidate.path, path, fields)) continue;
      routed.path_is_known = true;
      if (candidate.verb != verb) continue;
      routed.matches.push_back({&method, &candidate, std::move(fields)});
      return routed;
    }
  }
  return routed;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    unsigned value = 0;
    if (i + 2 >= text.size()) return std::nullopt;
    const char* end = text.data() + i + 3;
    const auto [stopped, error] = std::from_chars(text.data() + i + 1, end, value, 16);
    if (error != std::errc{} || stopped != end) return std::nullopt;
    decoded += static_cast<char>(value);
    i += 2;
  }
  return decoded;
}

Result<void> set_field(Message& message, std::string_view name, std::string_view text) {
  using google::protobuf::FieldDescriptor;
  const auto* descriptor = message.GetDescriptor();
  const FieldDescriptor* field = nullptr;
  std::vector<std::string> known;
  for (int i = 0; i < descriptor->field_count(); ++i) {
    if (descriptor->field(i)->is_repeated()) continue;
    known.push_back(descriptor->field(i)->json_name());
    if (known.back() == name || descriptor->field(i)->name() == name) field = descriptor->field(i);
  }
  const std::string in_question(name);
  if (field == nullptr) {
    return invalid_input("there is no parameter \"" + in_question + "\"." +
                         did_you_mean(name, known));
  }
  const auto* reflection = message.GetReflection();
  const Error wrong =
      invalid_input("parameter \"" + in_question + "\" cannot be \"" + std::string(text) + "\"");
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      reflection->SetString(&message, field, std::string(text));
      return {};
    case FieldDescriptor::CPPTYPE_BOOL:
      if (text != "true" && text != "false" && text != "1" && text != "0" && !text.empty()) {
        return wrong;
      }
      reflection->SetBool(&message, field, text != "false" && text != "0");
      return {};
    case FieldDescriptor::CPPTYPE_UINT32: {
      std::uint32_t number = 0;
      if (!parse_number(text, number)) return wrong;
      reflection->SetUInt32(&message, field, number);
      return {};
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      std::uint64_t number = 0;
      if (!parse_number(text, number)) return wrong;
      reflection->SetUInt64(&message, field, number);
      return {};
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      std::int64_t number = 0;
      if (!parse_number(text, number)) return wrong;
      reflection->SetInt64(&message, field, number);
      return {};
    }
    default: return wrong;
  }
}

int http_status_of(Code code) {
  switch (code) {
    case Code::InvalidInput: return 400;
    case Code::NotFound: return 404;
    case Code::Conflict: return 409;
    case Code::Unavailable: return 503;
    case Code::Exhausted: return 507;
    case Code::NotDurable: return 507;
    case Code::Damaged: return 500;
    case Code::Internal: return 500;
  }
  CHECK(false, "unknown code");
}

std::string_view name_of(Code code) {
  switch (code) {
    case Code::InvalidInput: return "InvalidInput";
    case Code::NotFound: return "NotFound";
    case Code::Conflict: return "Conflict";
    case Code::Unavailable: return "Unavailable";
    case Code::Exhausted: return "Exhausted";
    case Code::NotDurable: return "NotDurable";
    case Code::Damaged: return "Damaged";
    case Code::Internal: return "Internal";
  }
  CHECK(false, "unknown code");
}

}  // namespace berth::controld::api

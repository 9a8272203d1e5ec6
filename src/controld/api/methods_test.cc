#include "controld/api/methods.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <set>

#include "berth/v1/api.pb.h"
#include "controld/api/openapi.h"

namespace berth::controld::api {
namespace {

const google::protobuf::ServiceDescriptor& service() {
  return *v1::ApplyRequest::descriptor()->file()->FindServiceByName("Berth");
}

TEST(Methods, EveryCallHasOneRow) {
  std::multiset<std::string> rows;
  for (const Method& method : methods()) rows.emplace(method.name);
  EXPECT_EQ(rows.size(), static_cast<std::size_t>(service().method_count()));
  for (int i = 0; i < service().method_count(); ++i) {
    EXPECT_EQ(rows.count(service().method(i)->name()), 1u) << service().method(i)->name();
  }
}

TEST(Methods, EveryRowCanBeCalledByHttp) {
  for (const Method& method : methods()) {
    const bool is_of_grpc_only = method.name == "OpenSessions";
    EXPECT_EQ(method.routes.empty(), is_of_grpc_only) << method.name;
    EXPECT_NE(method.run, nullptr) << method.name;
    ASSERT_NE(method.descriptor, nullptr) << method.name;
    for (const Route& way : method.routes) {
      if (method.effect == Effect::Changes && method.name != "Exec") {
        EXPECT_NE(way.verb, "GET") << method.name;
      }
    }
  }
}

TEST(Methods, RolesSayWhoMayCallWhat) {
  const Caller nobody;
  const Caller viewer{.identity = trust::Identity{trust::Role::Viewer, "v"}, .address = ""};
  const Caller admin{.identity = trust::Identity{trust::Role::Admin, "a"}, .address = ""};
  const Caller client{.identity = trust::Identity{trust::Role::Client, "c", {"games"}},
                      .address = ""};
  const Caller node{.identity = trust::Identity{trust::Role::Node, "n1"}, .address = ""};
  for (const Method& method : methods()) {
    EXPECT_EQ(refusal_of(admin, method), Refusal::None) << method.name;
    const bool is_open = method.name == "Join" || method.name == "GetVersion";
    EXPECT_EQ(refusal_of(nobody, method), is_open ? Refusal::None : Refusal::NoIdentity);
    EXPECT_EQ(refusal_of(node, method), is_open ? Refusal::None : Refusal::NotAllowed);
    const bool for_viewers = is_open || method.effect == Effect::Reads;
    EXPECT_EQ(refusal_of(viewer, method), for_viewers ? Refusal::None : Refusal::NotAllowed)
        << method.name;
    const bool for_clients = is_open || method.name.find("Session") != std::string_view::npos;
    EXPECT_EQ(refusal_of(client, method), for_clients ? Refusal::None : Refusal::NotAllowed)
        << method.name;
  }
}

struct Routing {
  std::string name;
  std::vector<std::pair<std::string, std::string>> fields;

  friend bool operator==(const Routing&, const Routing&) = default;
};

Routing routed(std::string_view verb, std::string_view path) {
  const Routed found = route(verb, path);
  if (found.matches.empty()) return {found.path_is_known ? "other verb" : "nothing", {}};
  return {std::string(found.matches[0].method->name), found.matches[0].fields};
}

TEST(Routes, LeadToCalls) {
  EXPECT_EQ(routed("POST", "/v1/apply"), (Routing{"Apply", {}}));
  EXPECT_EQ(routed("GET", "/v1/items/web@1"), (Routing{"ListDocuments", {{"name", "web@1"}}}));
  EXPECT_EQ(routed("DELETE", "/v1/nodes/n1"), (Routing{"ForgetNode", {{"node", "n1"}}}));
  EXPECT_EQ(routed("POST", "/v1/nodes/n1/drain"), (Routing{"Drain", {{"node", "n1"}}}));
  EXPECT_EQ(routed("POST", "/v1/rebalance"), (Routing{"Rebalance", {}}));
}

TEST(Routes, InstancesMayHaveSlashes) {
  const Routing logs{"Logs", {{"instance", "web/default/0"}}};
  EXPECT_EQ(routed("GET", "/v1/instances/web/default/0/logs"), logs);
  EXPECT_EQ(routed("GET", "/v1/instances/web%2Fdefault%2F0/logs"), logs);
  EXPECT_EQ(routed("GET", "/v1/why/web"), (Routing{"Why", {{"instance", "web"}}}));
}

TEST(Routes, WhatIsInANamespaceIsNamedByBoth) {
  const Routing listed{"ListDocuments", {{"name", "games/echo"}}};
  EXPECT_EQ(routed("GET", "/v1/applications/games/echo"), listed);
  EXPECT_EQ(routed("GET", "/v1/applications/games%2Fecho"), listed);
  EXPECT_EQ(routed("DELETE", "/v1/applications/games/echo"),
            (Routing{"Delete", {{"name", "games/echo"}}}));
}

TEST(Methods, AClientUsesItsNamespacesOnly) {
  const Caller client{.identity = trust::Identity{trust::Role::Client, "c", {"games", "chat"}},
                      .address = ""};
  EXPECT_TRUE(may_use_namespace(client, "games"));
  EXPECT_TRUE(may_use_namespace(client, "chat"));
  EXPECT_FALSE(may_use_namespace(client, "default"));
  EXPECT_FALSE(may_use_namespace(client, ""));
  EXPECT_FALSE(may_use_namespace({}, "games"));
  const Caller admin{.identity = trust::Identity{trust::Role::Admin, "a"}, .address = ""};
  EXPECT_TRUE(may_use_namespace(admin, "default"));
}

TEST(Routes, LeadToSessions) {
  EXPECT_EQ(routed("POST", "/v1/namespaces/games/applications/echo/sessions"),
            (Routing{"OpenSession", {{"namespace", "games"}, {"application", "echo"}}}));
  EXPECT_EQ(routed("GET", "/v1/namespaces/games/sessions/blue"),
            (Routing{"GetSession", {{"namespace", "games"}, {"name", "blue"}}}));
  EXPECT_EQ(routed("DELETE", "/v1/namespaces/games/sessions/blue").name, "CloseSession");
  EXPECT_EQ(routed("GET", "/v1/namespaces/games/sessions").name, "ListSessions");
  EXPECT_EQ(routed("GET", "/v1/sessions").name, "ListSessions");
  EXPECT_EQ(routed("GET", "/v1/namespaces/games").name, "ListDocuments");
}

TEST(Routes, WhatLeadsNowhere) {
  EXPECT_EQ(routed("GET", "/v1/nothing").name, "nothing");
  EXPECT_EQ(routed("GET", "/v1/items/").name, "nothing");
  EXPECT_EQ(routed("GET", "/v1/items/a/b").name, "nothing");
  EXPECT_EQ(routed("GET", "/v1/items/%zz").name, "nothing");
  EXPECT_EQ(routed("GET", "/v1/apply").name, "other verb");
}

TEST(Fields, AreSetFromText) {
  v1::LogsRequest request;
  EXPECT_TRUE(set_field(request, "tail", "5"));
  EXPECT_TRUE(set_field(request, "follow", "true"));
  EXPECT_TRUE(set_field(request, "instance", "web"));
  EXPECT_EQ(request.tail(), 5u);
  EXPECT_TRUE(request.follow());
  EXPECT_EQ(request.instance(), "web");
  EXPECT_EQ(set_field(request, "tail", "five").error().message,
            "parameter \"tail\" cannot be \"five\"");
  EXPECT_EQ(set_field(request, "folow", "1").error().message,
            "there is no parameter \"folow\". Did you mean \"follow\"?");
}

TEST(OpenApi, IsJsonThatNamesEveryPath) {
  google::protobuf::Struct document;
  const std::string text = openapi("1");
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(text, &document).ok()) << text;
  const auto& paths = document.fields().at("paths").struct_value().fields();
  EXPECT_TRUE(paths.contains("/v1/apply"));
  EXPECT_TRUE(paths.contains("/v1/instances/{instance}/logs"));
  EXPECT_EQ(paths.at("/v1/nodes/{node}").struct_value().fields().count("delete"), 1u);
}

}  // namespace
}  // namespace berth::controld::api

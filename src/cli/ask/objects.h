#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/ask/kinds.h"
#include "client/client.h"
#include "model/ids.h"

// The things of a cluster, as the control plane lists them and as they are named.
namespace berth::cli {

struct InstanceFilter {
  std::string item;
  std::string node;
  std::string state;  // in any case
  bool all = false;   // also cached ones
};
Result<v1::Instances> list_instances(const client::Client& client,
                                     const InstanceFilter& filter = {});
Result<v1::Nodes> list_nodes(const client::Client& client);
bool is_away(const v1::Node& node);  // what it does cannot be known now
Result<v1::Documents> list_documents(const client::Client& client, Kind kind);

struct EventFilter {
  std::string about;  // "node/n1"; empty: everything
  std::uint64_t after = 0;
  std::uint32_t limit = 0;  // the newest so many; 0: what the server thinks is enough
};
Result<v1::Events> list_events(const client::Client& client, const EventFilter& filter);

model::InstanceKey key_of(const v1::InstanceKey& key);
std::string name_of(const v1::Instance& instance);  // "item/subject/index"

// The instance of a list that a name on the command line means, see codec/instance_name.h.
Result<const v1::Instance*> pick_instance(const v1::Instances& all, std::string_view name);
Result<const v1::Node*> pick_node(const v1::Nodes& all, std::string_view name);

// metadata.name, and of what has versions or a namespace also that: "web", "web@1.0.0",
// "games/echo".
std::string document_name(const google::protobuf::Struct& document);
std::string document_namespace(const google::protobuf::Struct& document);
std::string document_id(const google::protobuf::Struct& document);
std::string document_version(const google::protobuf::Struct& document);
// Every document of that name: all versions, or the one in "name@version".
Result<std::vector<const google::protobuf::Struct*>> pick_documents(const v1::Documents& all,
                                                                    Kind kind,
                                                                    std::string_view name);

// The part of a route that stands for an instance.
std::string instance_path(const model::InstanceKey& key);

// The control plane was there a moment ago: that something is unavailable now is the far node's,
// and no reason to end as if the control plane could not be reached.
Error not_about_us(Error error);

}  // namespace berth::cli

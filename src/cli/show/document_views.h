#pragma once

#include <google/protobuf/struct.pb.h>

#include <string>
#include <vector>

#include "berth/v1/api.pb.h"
#include "cli/ask/kinds.h"
#include "cli/show/table.h"

// Documents for people. A kind that has no columns of its own is listed by name.
namespace berth::cli {

Table documents_table(Kind kind, const std::vector<const google::protobuf::Struct*>& documents);

// With what is in the pools of each.
Table applications_table(const std::vector<const google::protobuf::Struct*>& documents,
                         const v1::Documents& all);

// The instances that a document is about, as "item" or "item/subject"; none of most kinds.
std::vector<std::string> instances_meant_by(Kind kind, const google::protobuf::Struct& document);

}  // namespace berth::cli

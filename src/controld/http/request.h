#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "controld/api/methods.h"

// What HTTP asks for, as a call of the API.
namespace berth::controld::http {

struct Target {
  std::string path;   // still encoded
  std::string query;  // behind '?'
};
Target split_target(std::string_view target);

// The request message: the body, then the fields of path, query and route over it.
Result<std::unique_ptr<api::Message>> message_of(const api::Match& match, std::string_view query,
                                                 std::string_view body);

Result<void> read_json(std::string_view json, api::Message& message);

// {"error": {"code": ..., "message": ...}}, with "retryAfterMs" and what else it says beside it.
std::string error_json(std::string_view code, std::string_view message,
                       const api::Particulars& particulars = {});

// Whether its answers come as server-sent events: a call that streams, and is asked to.
bool answers_with_events(const api::Method& method, const api::Message& request);

}  // namespace berth::controld::http

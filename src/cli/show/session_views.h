#pragma once

#include <string>
#include <vector>

#include "berth/v1/api.pb.h"
#include "cli/show/console.h"
#include "cli/show/json_text.h"
#include "cli/show/plan_table.h"
#include "cli/show/table.h"

// Sessions and pools, for people and for programs. For programs every object has the same fields
// whether they say something or not:
//
//   session  name namespace application instance node state reason message incarnation
//            endpoints[{port,protocol,external,internal}] clients
//            times{created, available, ended} (null: not yet)
//   pool     namespace application ready pending standby active terminating waiting
//            refusal{reason,message} failure{reason,message} failures
namespace berth::cli {

// "InsufficientCpu: no node has 600 DMIPS"; empty: there is none.
std::string problem_text(const v1::Problem& problem);

Table sessions_table(const std::vector<v1::Session>& sessions, Detail detail);
// All about one.
std::string session_text(const v1::Session& session, const Style& style);
// Its name, and where it is reached.
std::string endpoints_text(const v1::Session& session);
// A change as one line.
std::string session_line(const v1::Session& session, const Style& style);

Json json_of(const v1::Session& session);
Json json_of(const v1::Pool& pool);

}  // namespace berth::cli

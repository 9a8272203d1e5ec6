#include "controld/http/request.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "berth/v1/api.pb.h"
#include "codec/json_parts.h"

namespace berth::controld::http {
namespace {

Result<void> set_query(api::Message& message, std::string_view query) {
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view part = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    const auto name = api::percent_decoded(part.substr(0, equals));
    std::string raw(equals == std::string_view::npos ? "" : part.substr(equals + 1));
    std::ranges::replace(raw, '+', ' ');
    const auto value = api::percent_decoded(raw);
    if (!name || !value) return invalid_input("the query of the URL is not well encoded");
    TRY(api::set_field(message, *name, *value));
  }
  return {};
}

}  // namespace

Target split_target(std::string_view target) {
  const std::size_t mark = target.find('?');
  return {std::string(target.substr(0, mark)),
          mark == std::string_view::npos ? "" : std::string(target.substr(mark + 1))};
}

Result<void> read_json(std::string_view json, api::Message& message) {
  const auto status =
      google::protobuf::util::JsonStringToMessage({json.data(), json.size()}, &message);
  if (status.ok()) return {};
  return invalid_input(fmt::format("the body is not what the call takes: {}",
                                   std::string(status.message().data(), status.message().size())));
}

Result<std::unique_ptr<api::Message>> message_of(const api::Match& match, std::string_view query,
                                                 std::string_view body) {
  const auto* form = google::protobuf::MessageFactory::generated_factory()->GetPrototype(
      match.method->descriptor->input_type());
  std::unique_ptr<api::Message> message(form->New());
  if (!body.empty()) TRY(read_json(body, *message));
  TRY(set_query(*message, query));
  if (!match.route->fixed.first.empty()) {
    TRY(api::set_field(*message, match.route->fixed.first, match.route->fixed.second));
  }
  for (const auto& [name, value] : match.fields) TRY(api::set_field(*message, name, value));
  return message;
}

std::string error_json(std::string_view code, std::string_view message,
                       const api::Particulars& particulars) {
  using namespace codec::json;
  std::vector<Member> members{
      {"error", object({{"code", text(particulars.word.empty() ? code : particulars.word)},
                        {"message", text(message)}})}};
  if (particulars.retry_after) {
    members.emplace_back(
        "retryAfterMs",
        std::to_string(
            std::chrono::ceil<std::chrono::milliseconds>(*particulars.retry_after).count()));
  }
  if (particulars.what) members.emplace_back(particulars.about, particulars.what->json());
  return object(members);
}

bool answers_with_events(const api::Method& method, const api::Message& request) {
  if (!method.descriptor->server_streaming()) return false;
  const auto* apply = dynamic_cast<const v1::ApplyRequest*>(&request);
  return apply == nullptr || apply->wait();
}

}  // namespace berth::controld::http

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controld/api/methods.h"
#include "controld/api/services.h"

// What machines ask of the daemon itself, beside the API.
namespace berth::controld::http {

struct Probe {
  std::string_view path;
  api::Access access;
};
const Probe* find_probe(std::string_view path);

struct ProbeAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string text;
};

// `connections`: of this front. May be called back from another thread.
void answer_probe(const api::Services& services, std::string_view path, std::string_view query,
                  std::size_t connections, std::function<void(ProbeAnswer)> done);

}  // namespace berth::controld::http

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "controld/api/methods.h"
#include "controld/api/services.h"
#include "controld/metrics.h"

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

// Why a port cannot let anybody in; those that can are not in it.
using PortTroubles = std::map<std::string, std::string>;

// One question, and what the parts of the daemon have said to it so far. They say it from their own
// threads, so that one that does not turn says nothing.
class Inquiry {
 public:
  // `complete` is called when nobody has anything to say any more.
  Inquiry(std::string path, std::string_view query, std::function<void()> complete);

  const std::string& path() const { return path_; }
  bool is_readiness() const { return path_ == "/readyz"; }

  void give(ProbeAnswer answer);  // the whole of it
  void tell_cluster(const ClusterCounts& counts);
  void tell_grpc(const std::optional<Error>& trouble);

  // By what is known now. `troubles`: of the ports of HTTP.
  ProbeAnswer answer(const api::Services& services, const PortTroubles& troubles) const;

 private:
  ProbeAnswer readiness(const std::optional<Error>& store, PortTroubles troubles) const;
  void check_completeness();

  const std::string path_;
  const bool verbose_;
  const std::function<void()> complete_;
  mutable std::mutex mutex_;  // of all below
  std::optional<ProbeAnswer> given_;
  std::optional<ClusterCounts> cluster_;
  bool grpc_has_answered_ = false;
  std::optional<Error> grpc_trouble_;
};

// Asks whom it takes. `connections`: of this front.
void inquire(const api::Services& services, const std::shared_ptr<Inquiry>& inquiry,
             std::size_t connections);

}  // namespace berth::controld::http

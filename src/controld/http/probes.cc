#include "controld/http/probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "controld/api/openapi.h"
#include "controld/measurements.h"

namespace berth::controld::http {
namespace {

constexpr std::array kProbes{
    Probe{"/livez", api::Access::Anyone},
    Probe{"/readyz", api::Access::Anyone},
    Probe{"/metrics", api::Access::Viewers},
    Probe{"/openapi.json", api::Access::Viewers},
};

ProbeAnswer too_busy() { return {.status = 503, .text = "too busy\n"}; }

std::string line(std::string_view what, const std::optional<std::string>& trouble) {
  return fmt::format("[{}] {}: {}\n", trouble ? '-' : '+', what, trouble.value_or("ok"));
}

}  // namespace

const Probe* find_probe(std::string_view path) {
  const auto found = std::ranges::find(kProbes, path, &Probe::path);
  return found == kProbes.end() ? nullptr : &*found;
}

Inquiry::Inquiry(std::string path, std::string_view query, std::function<void()> complete)
    : path_(std::move(path)),
      verbose_(query.starts_with("verbose")),
      complete_(std::move(complete)) {}

void Inquiry::give(ProbeAnswer answer) {
  {
    const std::lock_guard lock(mutex_);
    given_ = std::move(answer);
  }
  complete_();
}

void Inquiry::tell_cluster(const ClusterCounts& counts) {
  {
    const std::lock_guard lock(mutex_);
    cluster_ = counts;
  }
  check_completeness();
}

void Inquiry::tell_grpc(const std::optional<Error>& trouble) {
  {
    const std::lock_guard lock(mutex_);
    grpc_has_answered_ = true;
    grpc_trouble_ = trouble;
  }
  check_completeness();
}

void Inquiry::check_completeness() {
  {
    const std::lock_guard lock(mutex_);
    if (!cluster_ || !grpc_has_answered_) return;
  }
  complete_();
}

ProbeAnswer Inquiry::answer(const api::Services& services, const PortTroubles& troubles) const {
  const std::lock_guard lock(mutex_);
  if (!is_readiness()) return given_.value_or(too_busy());
  ProbeAnswer answer = readiness(services.loop.trouble(), troubles);
  if (verbose_ && services.remarks) {
    for (const std::string& remark : services.remarks()) {
      answer.text += fmt::format("[!] {}\n", remark);
    }
  }
  return answer;
}

// Under mutex_.
ProbeAnswer Inquiry::readiness(const std::optional<Error>& store, PortTroubles troubles) const {
  if (!grpc_has_answered_) troubles.emplace("grpc", "does not answer");
  if (grpc_trouble_) troubles.emplace("grpc", grpc_trouble_->message);
  const bool is_held = cluster_ && cluster_->held;
  const bool ready = !store && cluster_ && !is_held && troubles.empty();
  ProbeAnswer answer{.status = ready ? 200 : 503, .text = ""};
  if (ready && !verbose_) {
    answer.text = "ok\n";
    return answer;
  }
  answer.text += line("store", store ? std::optional(store->message) : std::nullopt);
  answer.text += line("controller", cluster_ ? std::nullopt : std::optional("does not answer"));
  if (is_held) answer.text += line("held", *cluster_->held + "; see `berth store`");
  for (const char* port : {"grpc", "https", "socket"}) {
    const auto trouble = troubles.find(port);
    answer.text +=
        line(port, trouble == troubles.end() ? std::nullopt : std::optional(trouble->second));
  }
  if (cluster_ && verbose_) {
    answer.text += fmt::format("[+] settled: {}\n[+] nodes: {} reachable\n[+] revision: {}\n",
                               cluster_->settled ? "yes" : "not yet",
                               cluster_->nodes.at("reachable"), cluster_->revision);
  }
  answer.text += ready ? "ready\n" : "not ready\n";
  return answer;
}

void inquire(const api::Services& services, const std::shared_ptr<Inquiry>& inquiry,
             std::size_t connections) {
  if (inquiry->path() == "/livez") return inquiry->give({.text = "ok\n"});
  if (inquiry->path() == "/openapi.json") {
    return inquiry->give({.type = "application/json", .text = api::openapi(services.version)});
  }
  if (inquiry->is_readiness()) {
    services.ask_grpc([inquiry](const auto& trouble) { inquiry->tell_grpc(trouble); });
  }
  const auto look = [&services, inquiry, connections](const control::Controller& controller) {
    if (inquiry->is_readiness()) return inquiry->tell_cluster(count_nodes(controller));
    inquiry->give(
        {.type = "text/plain; version=0.0.4; charset=utf-8",
         .text = metrics_text(count(controller), services.loop.stats(), services.hub.watchers(),
                              services.streams.open(), connections) +
                 measurements_text(controller)});
  };
  if (!services.loop.post(Loop::Query(look))) inquiry->give(too_busy());
}

}  // namespace berth::controld::http

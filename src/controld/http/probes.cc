#include "controld/http/probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "controld/measurements.h"
#include "controld/metrics.h"

namespace berth::controld::http {
namespace {

constexpr std::array kProbes{
    Probe{"/livez", api::Access::Anyone},
    Probe{"/readyz", api::Access::Anyone},
    Probe{"/metrics", api::Access::Viewers},
    Probe{"/openapi.json", api::Access::Viewers},
};

ProbeAnswer readiness(const api::Services& services, const ClusterCounts* counts, bool verbose) {
  const std::optional<Error> trouble = services.loop.trouble();
  const bool ready = !trouble && counts != nullptr;
  ProbeAnswer answer{.status = ready ? 200 : 503, .text = ""};
  if (!verbose && ready) {
    answer.text = "ok\n";
    return answer;
  }
  answer.text += trouble ? fmt::format("[-] store: {}\n", trouble->message) : "[+] store: ok\n";
  answer.text +=
      counts == nullptr ? "[-] controller: too busy to answer\n" : "[+] controller: ok\n";
  if (counts != nullptr && verbose) {
    answer.text += fmt::format("[+] settled: {}\n[+] nodes: {} reachable\n[+] revision: {}\n",
                               counts->settled ? "yes" : "not yet", counts->nodes.at("reachable"),
                               counts->revision);
  }
  if (verbose && services.remarks) {
    for (const std::string& remark : services.remarks()) {
      answer.text += fmt::format("[!] {}\n", remark);
    }
  }
  answer.text += ready ? "ready\n" : "not ready\n";
  return answer;
}

}  // namespace

const Probe* find_probe(std::string_view path) {
  const auto found = std::ranges::find(kProbes, path, &Probe::path);
  return found == kProbes.end() ? nullptr : &*found;
}

void answer_probe(const api::Services& services, std::string_view path, std::string_view query,
                  std::size_t connections, std::function<void(ProbeAnswer)> done) {
  if (path == "/livez") return done({.text = "ok\n"});
  if (path == "/openapi.json") {
    return done({.type = "application/json", .text = api::openapi(services.version)});
  }
  const bool is_readiness = path == "/readyz";
  const bool verbose = query.starts_with("verbose");
  const auto count_now = [&services, is_readiness, verbose, connections,
                          done](const control::Controller& controller) {
    if (is_readiness) {
      const ClusterCounts counts = count_nodes(controller);
      return done(readiness(services, &counts, verbose));
    }
    const ClusterCounts counts = count(controller);
    done({.type = "text/plain; version=0.0.4; charset=utf-8",
          .text = metrics_text(counts, services.loop.stats(), services.hub.watchers(),
                               services.streams.open(), connections) +
                  measurements_text(controller)});
  };
  if (services.loop.post(Loop::Query(count_now))) return;
  if (is_readiness) return done(readiness(services, nullptr, verbose));
  done({.status = 503, .text = "too busy\n"});
}

}  // namespace berth::controld::http

#pragma once

#include "codec/describe.h"

// Items and their parts.
namespace berth::codec {

template <class V, Is<model::Platform> T>
void describe(V& v, T& platform) {
  auto& [os, arch, variant, os_version, os_features] = platform;
  v.field("os", os, "operating system, such as linux", Label{});
  v.field("arch", arch, "processor architecture, such as amd64 or arm64", Label{});
  v.field("variant", variant, "variant of the architecture, such as v8", Label{});
  v.field("osVersion", os_version, "version of the operating system", Label{});
  v.field("osFeatures", os_features, "features of the operating system", Each{Label{}});
}

template <class V, Is<model::WasmImage> T>
void describe(V& v, T& image) {
  auto& [module] = image;
  v.required("module", module, "path of the module", NonEmpty{});
}

template <class V, Is<model::VmImage> T>
void describe(V& v, T& image) {
  auto& [kernel, initrd, disk, cmdline] = image;
  v.field("kernel", kernel, "path of the kernel, in the node's images.dir; @sha256:... pins it");
  v.field("initrd", initrd, "path of the initial ram disk of the kernel");
  v.field(
      "disk", disk,
      "path of the disk image, raw or qcow2; it is never written, each instance has an overlay");
  v.field("cmdline", cmdline, "more for the kernel's command line; the last word is here");
}

template <class V, Is<model::RootfsImage> T>
void describe(V& v, T& image) {
  auto& [archive] = image;
  v.required("archive", archive, "path of the archive of the root file system", NonEmpty{});
}

template <class V, Is<model::BootImage> T>
void describe(V& v, T& boot) {
  auto& [image] = boot;
  v.required("image", image, "path of the image of the boot partition", NonEmpty{});
}

template <class V, Is<model::FirmwareImage> T>
void describe(V& v, T& image) {
  auto& [install, activate, revert] = image;
  v.required("install", install, "command that installs it", NonEmpty{});
  v.field("activate", activate, "command that makes the installed one the running one");
  v.field("revert", revert, "command that goes back to the one before");
}

template <class V, Is<model::Image> T>
void describe(V& v, T& image) {
  auto& [platform, runtimes, form] = image;
  v.field("platform", platform, "what the image needs; arch is required for oci images");
  v.field("runtimes", runtimes, "instead of the item's list", Unique{});
  v.one_of(form,
           Option<model::OciImage>{"oci",
                                   "OCI layout directory[:tag], docker://registry/name:tag or "
                                   "@sha256:..."},
           Option<model::CommandImage>{"command", "program on the node and its arguments"},
           Option<model::WasmImage>{"wasm", "a WebAssembly module"},
           Option<model::VmImage>{"vm",
                                  "a virtual machine; quotas.ram is its memory (128Mi without), "
                                  "quotas.cpu its processors, quotas.storage a disk for data"},
           Option<model::RootfsImage>{"rootfs", "a root file system"},
           Option<model::BootImage>{"boot", "a boot partition"},
           Option<model::FirmwareImage>{"firmware", "firmware, by the commands that handle it"});
}

template <class V, Is<model::ResourceSpec> T>
void describe(V& v, T& resources) {
  auto& [cpu, ram, storage, state] = resources;
  v.field("cpu", cpu, "in DMIPS");
  v.field("ram", ram, "memory");
  v.field("storage", storage, "disk space for data");
  v.field("state", state, "disk space for state");
}

template <class V, Is<model::TcpCheck> T>
void describe(V& v, T& check) {
  auto& [port] = check;
  v.required("port", port, "port that must accept connections", kPortNumber);
}

template <class V, Is<model::HttpCheck> T>
void describe(V& v, T& check) {
  auto& [port, path] = check;
  v.required("port", port, "port of the instance", kPortNumber);
  v.field("path", path, "path that must answer with success", NonEmpty{});
}

template <class V, Is<model::HealthCheck> T>
void describe(V& v, T& health) {
  auto& [probe, period, failures, start_period] = health;
  v.one_of(probe, Option<model::ExecCheck>{"exec", "command that must succeed"},
           Option<model::TcpCheck>{"tcp", "port that must accept connections"},
           Option<model::HttpCheck>{"http", "request that must succeed"});
  v.field("period", period, "time between checks", Positive{});
  v.field("failures", failures, "failed checks in a row after which it is restarted",
          Range{1, 1'000'000});
  v.field("startPeriod", start_period,
          "time to come up: failures do not count until it is over, or a check has passed");
}

template <class V, Is<model::RestartPolicy> T>
void describe(V& v, T& restart) {
  auto& [mode, backoff, backoff_max] = restart;
  v.field("policy", mode, "when an instance that ended is started again");
  v.field("backoff", backoff, "wait before the first restart; doubles with each in a row");
  v.field("backoffMax", backoff_max, "longest wait");
}

template <class V, Is<model::ThresholdRule> T>
void describe(V& v, T& rule) {
  auto& [min, max, timeout] = rule;
  v.field("min", min, "percent below which it is well again", kPercent);
  v.field("max", max, "percent above which it is too much", kPercent);
  v.field("timeout", timeout, "how long it must last");
}

template <class V, Is<model::Thresholds> T>
void describe(V& v, T& thresholds) {
  auto& [cpu, ram] = thresholds;
  v.field("cpu", cpu, "rule for cpu usage");
  v.field("ram", ram, "rule for memory usage");
}

template <class V, Is<model::Item> T>
void describe(V& v, T& item) {
  auto& [id, type, version, owner, runtimes, images, args, env, quotas, request,
         skip_resource_limits, shared_resources, balancing, move, state_move, tolerates, ports,
         allowed_connections, hosts, health, min_healthy, restart, alerts] = item;
  v.field("type", type, "what it is");
  v.required("version", version, "several versions of an item are several documents", Version{});
  v.field("owner", owner, "the provider; instances of one owner share a network");
  v.field("runtimes", runtimes,
          "runtime types in order of preference; left out: by the form of the image", Unique{});
  v.required("images", images, "in order of preference; the first that can be placed is used",
             NonEmpty{});
  v.field("args", args, "arguments of the program");
  v.field("env", env, "environment variables", Each{VariableName{}});
  v.field("quotas", quotas, "what an instance may use at most");
  v.field("request", request, "what is reserved for an instance");
  v.field("skipResourceLimits", skip_resource_limits, "reserve nothing");
  v.field("sharedResources", shared_resources, "names of resources of the node it needs", Unique{},
          Each{Label{}});
  v.field("balancing", balancing, "disabled: pinned while rebalancing");
  v.field("move", move, "how an instance changes its place");
  v.field("stateMove", state_move,
          "handOver: one with a state quota stops first, and loses nothing when it moves");
  v.field("tolerates", tolerates, "conditions under which it may be placed all the same");
  v.field("ports", ports, "exposed ports, such as 8080/tcp", Unique{});
  v.field("allowedConnections", allowed_connections,
          "what it may reach of other owners, such as broker/1883/tcp");
  v.field("hosts", hosts, "further host names", Unique{}, Each{Name{}});
  v.field("health", health, "how to find out whether it works");
  v.field("minHealthy", min_healthy,
          "without a health check: how long it must be active before it counts as well; left out: "
          "2s, or what the control plane's minHealthy says");
  v.field("restart", restart, "what happens when it ends");
  v.field("alerts", alerts, "usage, in percent of its quota, that is reported");
}

}  // namespace berth::codec

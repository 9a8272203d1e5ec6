#pragma once

#include "codec/describe.h"

// Items and their parts.
namespace berth::codec {

template <class V, Is<model::Platform> T>
void describe(V& v, T& platform) {
  v.field("os", platform.os, "operating system, such as linux", Label{});
  v.field("arch", platform.arch, "processor architecture, such as amd64 or arm64", Label{});
  v.field("variant", platform.variant, "variant of the architecture, such as v8", Label{});
  v.field("osVersion", platform.os_version, "version of the operating system", Label{});
  v.field("osFeatures", platform.os_features, "features of the operating system", Each{Label{}});
}

template <class V, Is<model::WasmImage> T>
void describe(V& v, T& image) {
  v.required("module", image.module, "path of the module", NonEmpty{});
}

template <class V, Is<model::VmImage> T>
void describe(V& v, T& image) {
  v.field("kernel", image.kernel, "path of the kernel");
  v.field("initrd", image.initrd, "path of the initial ram disk");
  v.field("disk", image.disk, "path of the disk image");
  v.field("cmdline", image.cmdline, "command line of the kernel");
}

template <class V, Is<model::RootfsImage> T>
void describe(V& v, T& image) {
  v.required("archive", image.archive, "path of the archive of the root file system", NonEmpty{});
}

template <class V, Is<model::BootImage> T>
void describe(V& v, T& image) {
  v.required("image", image.image, "path of the image of the boot partition", NonEmpty{});
}

template <class V, Is<model::FirmwareImage> T>
void describe(V& v, T& image) {
  v.required("install", image.install, "command that installs it", NonEmpty{});
  v.field("activate", image.activate, "command that makes the installed one the running one");
  v.field("revert", image.revert, "command that goes back to the one before");
}

template <class V, Is<model::Image> T>
void describe(V& v, T& image) {
  v.field("platform", image.platform, "what the image needs; arch is required for oci images");
  v.field("runtimes", image.runtimes, "instead of the item's list", Unique{});
  v.one_of(image.form,
           Option<model::OciImage>{"oci",
                                   "OCI layout directory[:tag], docker://registry/name:tag or "
                                   "@sha256:..."},
           Option<model::CommandImage>{"command", "program on the node and its arguments"},
           Option<model::WasmImage>{"wasm", "a WebAssembly module"},
           Option<model::VmImage>{"vm", "a virtual machine"},
           Option<model::RootfsImage>{"rootfs", "a root file system"},
           Option<model::BootImage>{"boot", "a boot partition"},
           Option<model::FirmwareImage>{"firmware", "firmware, by the commands that handle it"});
}

template <class V, Is<model::ResourceSpec> T>
void describe(V& v, T& resources) {
  v.field("cpu", resources.cpu, "in DMIPS");
  v.field("ram", resources.ram, "memory");
  v.field("storage", resources.storage, "disk space for data");
  v.field("state", resources.state, "disk space for state");
}

template <class V, Is<model::TcpCheck> T>
void describe(V& v, T& check) {
  v.required("port", check.port, "port that must accept connections", kPortNumber);
}

template <class V, Is<model::HttpCheck> T>
void describe(V& v, T& check) {
  v.required("port", check.port, "port of the instance", kPortNumber);
  v.field("path", check.path, "path that must answer with success", NonEmpty{});
}

template <class V, Is<model::HealthCheck> T>
void describe(V& v, T& health) {
  v.one_of(health.probe, Option<model::ExecCheck>{"exec", "command that must succeed"},
           Option<model::TcpCheck>{"tcp", "port that must accept connections"},
           Option<model::HttpCheck>{"http", "request that must succeed"});
  v.field("period", health.period, "time between checks", Positive{});
  v.field("failures", health.failures, "failed checks in a row after which it is restarted",
          Range{1, 1'000'000});
}

template <class V, Is<model::RestartPolicy> T>
void describe(V& v, T& restart) {
  v.field("policy", restart.mode, "when an instance that ended is started again");
  v.field("backoff", restart.backoff, "wait before the first restart; doubles with each in a row");
  v.field("backoffMax", restart.backoff_max, "longest wait");
}

template <class V, Is<model::ThresholdRule> T>
void describe(V& v, T& rule) {
  v.field("min", rule.min, "percent below which it is well again", kPercent);
  v.field("max", rule.max, "percent above which it is too much", kPercent);
  v.field("timeout", rule.timeout, "how long it must last");
}

template <class V, Is<model::Thresholds> T>
void describe(V& v, T& thresholds) {
  v.field("cpu", thresholds.cpu, "rule for cpu usage");
  v.field("ram", thresholds.ram, "rule for memory usage");
}

template <class V, Is<model::Item> T>
void describe(V& v, T& item) {
  v.field("type", item.type, "what it is");
  v.required("version", item.version, "several versions of an item are several documents",
             Version{});
  v.field("owner", item.owner, "the provider; instances of one owner share a network");
  v.field("runtimes", item.runtimes,
          "runtime types in order of preference; left out: by the form of the image", Unique{});
  v.required("images", item.images, "in order of preference; the first that can be placed is used",
             NonEmpty{});
  v.field("args", item.args, "arguments of the program");
  v.field("env", item.env, "environment variables", Each{VariableName{}});
  v.field("quotas", item.quotas, "what an instance may use at most");
  v.field("request", item.request, "what is reserved for an instance");
  v.field("skipResourceLimits", item.skip_resource_limits, "reserve nothing");
  v.field("sharedResources", item.shared_resources, "names of resources of the node it needs",
          Unique{}, Each{Label{}});
  v.field("balancing", item.balancing, "disabled: pinned while rebalancing");
  v.field("move", item.move, "how an instance changes its place");
  v.field("tolerates", item.tolerates, "conditions under which it may be placed all the same");
  v.field("ports", item.ports, "exposed ports, such as 8080/tcp", Unique{});
  v.field("allowedConnections", item.allowed_connections,
          "what it may reach of other owners, such as broker/1883/tcp");
  v.field("hosts", item.hosts, "further host names", Unique{}, Each{Name{}});
  v.field("health", item.health, "how to find out whether it works");
  v.field("restart", item.restart, "what happens when it ends");
  v.field("alerts", item.alerts, "usage, in percent of its quota, that is reported");
}

}  // namespace berth::codec

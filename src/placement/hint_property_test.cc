#include "placement/testing_plans.h"

// What holds for every cluster, tried on many random ones. A failure names the seed.
namespace berth::placement {
namespace {

struct Words {
  explicit Words(const std::string& text) {
    for (std::size_t from = 0; from < text.size();) {
      const std::size_t to = std::min(text.find(' ', from), text.size());
      words.push_back(text.substr(from, to - from));
      from = to + 1;
    }
  }
  std::vector<std::string> words;
};

std::int64_t bytes_of(const std::string& count, const std::string& unit) {
  const std::map<std::string, std::int64_t> units{{"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}};
  return std::stoll(count) * units.at(unit);
}

// "n1" or "n1/runc"
struct Target {
  Target(model::Manifest& manifest, const std::string& name) {
    const std::size_t slash = name.find('/');
    for (model::Document& document : manifest) {
      auto* listed = std::get_if<model::Node>(&document);
      if (listed == nullptr) continue;
      if (listed->id.value() == name.substr(0, slash)) node = listed;
      if (listed->info.partitions.unit_wide) unit_wide.push_back(listed);
    }
    CHECK(node != nullptr, "a hint names a node that is there");
    if (slash == std::string::npos) return;
    for (model::Runtime& candidate : node->info.runtimes) {
      if (candidate.id.value() == name.substr(slash + 1)) runtime = &candidate;
    }
    CHECK(runtime != nullptr, "a hint names a runtime that is there");
  }

  std::vector<model::Node*> sharing_the_partition() const {
    return node->info.partitions.unit_wide ? unit_wide : std::vector{node};
  }

  model::Node* node = nullptr;
  model::Runtime* runtime = nullptr;
  std::vector<model::Node*> unit_wide;
};

// A share of the capacity would grow with the node that is made bigger.
model::Manifest without_default_requests(model::Manifest manifest) {
  for (model::Document& document : manifest) {
    if (auto* config = std::get_if<model::NodeConfig>(&document)) config->default_request.reset();
  }
  return manifest;
}

// Each does what one sort of hint says, and gives false if it is of another sort. Nodes are made
// bigger instead of freeing room on them.
bool carry_out_free(model::Manifest& manifest, const std::vector<std::string>& words) {
  if (words.size() < 5 || words[0] != "free") return false;
  if (words[2] != "DMIPS" && words.size() != 7) return false;
  const Target target(manifest, words.back());
  if (words[2] == "DMIPS") {
    const Dmips more{std::stoll(words[1])};
    target.node->info.capacity.cpu += more;
    if (target.runtime != nullptr) target.runtime->limits.cpu += more;
    return true;
  }
  const Bytes more{bytes_of(words[1], words[2])};
  if (words[4] == "ram") {
    target.node->info.capacity.ram += more;
    if (target.runtime != nullptr) target.runtime->limits.ram += more;
    return true;
  }
  for (model::Node* node : target.sharing_the_partition()) {
    model::Partitions& partitions = node->info.partitions;
    const bool one_counter = partitions.same_partition || words[4] == "storage";
    *(one_counter ? partitions.storage : partitions.state) += more;
  }
  return true;
}

// "free camera on n1", "free 2 camera on n1", "add camera to n1"
bool carry_out_resource(model::Manifest& manifest, const std::vector<std::string>& words) {
  const bool free = words[0] == "free" && (words.size() == 4 || words.size() == 5);
  const bool add = words[0] == "add" && words.size() == 4;
  if (!free && !add) return false;
  auto& listed = Target(manifest, words.back()).node->info.shared_resources;
  if (add) return listed.push_back({words[1], 0}), true;
  const std::string& name = words[words.size() - 3];
  const auto resource = std::ranges::find(listed, name, &model::SharedResource::name);
  CHECK(resource != listed.end(), "only what is listed can be freed");
  resource->count += words.size() == 5 ? static_cast<std::uint32_t>(std::stoul(words[1])) : 1;
  return true;
}

// "stop an instance on n1/runc", "stop 2 instances on n1/runc"
bool carry_out_stop(model::Manifest& manifest, const std::vector<std::string>& words) {
  if (words.size() != 5 || words[0] != "stop") return false;
  const auto more = words[1] == "an" ? 1 : static_cast<std::uint32_t>(std::stoul(words[1]));
  Target(manifest, words[4]).runtime->limits.instances += more;
  return true;
}

bool carry_out_connect(model::Manifest& manifest, const std::vector<std::string>& words) {
  if (words.size() == 2 && words[0] == "connect") {
    return Target(manifest, words[1]).node->connected = true;
  }
  if (words.size() < 3 || words[0] != "make" || words[2] != "provisioned") return false;
  Target(manifest, words[1]).node->info.state = model::NodeState::Provisioned;
  return true;
}

// "ask for 100 DMIPS less, which n1 would have", "ask for 1 KiB of ram less, which ..."
bool carry_out_ask(model::Manifest& manifest, const std::vector<std::string>& words) {
  if (words.size() < 6 || words[0] != "ask") return false;
  for (model::Document& document : manifest) {
    auto* item = std::get_if<model::Item>(&document);
    if (item == nullptr || item->id != kArriving.item) continue;
    if (words[3] == "DMIPS") {
      *item->request.cpu -= Dmips{std::stoll(words[2])};
    } else if (words[5] == "ram") {
      *item->request.ram -= Bytes{bytes_of(words[2], words[3])};
    } else {
      return false;
    }
  }
  return true;
}

bool carry_out_label(model::Manifest& manifest, const std::vector<std::string>& words) {
  if (words.size() < 3 || words[0] != "label") return false;
  const Snapshot snapshot = snapshot_of(manifest);
  const auto node = std::ranges::find(snapshot.nodes, model::NodeId{words[1]}, &SnapshotNode::id);
  CHECK(node != snapshot.nodes.end(), "a hint names a node that is there");
  model::NodeConfig config;
  config.name = "as-hinted";
  config.node = node->id;
  config.labels = node->settings.labels;
  config.labels->insert(words.begin() + 2, words.end());
  manifest.emplace_back(std::move(config));
  return true;
}

bool carry_out_uncordon(model::Manifest& manifest, const std::vector<std::string>& words) {
  if (words.size() != 2 || words[0] != "uncordon") return false;
  Target(manifest, words[1]).node->cordoned = false;
  return true;
}

bool carry_out_allow(model::Manifest& manifest, const std::vector<std::string>& words) {
  if (words.size() != 3 || words[0] != "allow") return false;
  for (model::Document& document : manifest) {
    auto* deployment = std::get_if<model::Deployment>(&document);
    if (deployment == nullptr || deployment->name != "arrival") continue;
    deployment->run.front().nodes.emplace_back(words[2]);
  }
  return true;
}

bool carry_out_repair(model::Manifest& manifest, const std::vector<std::string>& words) {
  if (words.size() != 6 || words[0] != "repair") return false;
  Target(manifest, words[4] + "/" + words[2]).runtime->ready = model::Readiness::Ready;
  return true;
}

bool carry_out(model::Manifest& manifest, const std::string& change) {
  const std::vector<std::string> words = Words(change).words;
  return carry_out_free(manifest, words) || carry_out_resource(manifest, words) ||
         carry_out_stop(manifest, words) || carry_out_label(manifest, words) ||
         carry_out_uncordon(manifest, words) || carry_out_allow(manifest, words) ||
         carry_out_repair(manifest, words) || carry_out_connect(manifest, words) ||
         carry_out_ask(manifest, words);
}

std::vector<std::string> split(std::string text, const std::string& by) {
  std::vector<std::string> parts;
  for (std::size_t at = text.find(by); at != std::string::npos; at = text.find(by)) {
    parts.push_back(text.substr(0, at));
    text.erase(0, at + by.size());
  }
  parts.push_back(text);
  return parts;
}

// Whether the two plans decide the same about all but the arriving one. If a change helps somebody
// else, who then takes what was meant for it, the hint was still true.
bool others_are_the_same(Plan a, Plan b) {
  for (Plan* plan : {&a, &b}) {
    std::erase_if(plan->placements, [](const auto& one) { return one.key == kArriving; });
    std::erase_if(plan->refused, [](const auto& one) { return one.key == kArriving; });
  }
  return a.placements == b.placements &&
         std::ranges::equal(a.refused, b.refused, {}, &Refusal::key, &Refusal::key);
}

TEST(OneMoreService, FitsWhenTheHintIsFollowed) {
  std::map<std::string, int> followed;
  const auto check = [&](const model::Manifest& manifest, Random& random) {
    Arrival arrival = an_arrival(without_default_requests(manifest), random);
    arrival.item.balancing = model::Balancing::Disabled;  // or others could displace it again
    const model::Manifest before = arrival.at_priority(kLowest);
    const Plan plan = plan_of(before);
    const Refusal* refusal = refusal_of(plan, kArriving);
    if (refusal == nullptr) return;
    for (const std::string& alternative : split(refusal->hint, ", or ")) {
      model::Manifest after = before;
      const auto changes = split(alternative, " and ");
      const auto follow = [&](const std::string& change) { return carry_out(after, change); };
      if (!std::ranges::all_of(changes, follow)) continue;
      const Plan with_changes = plan_of(after);
      if (!others_are_the_same(plan, with_changes)) continue;
      ++followed[changes.size() > 1 ? "several" : Words(alternative).words.front()];
      EXPECT_NE(place_of(with_changes, kArriving), "") << refusal->hint;
    }
  };
  for_random_clusters(check, kCrowded);
  for_random_clusters(check, {.nodes_max = 2, .trouble_ppm = 300'000});
  for (const char* sort :
       {"free", "ask", "stop", "label", "uncordon", "repair", "connect", "add", "several"}) {
    EXPECT_GE(followed[sort], 3) << "too few hints of the sort " << sort << " to prove anything";
  }
}

}  // namespace
}  // namespace berth::placement

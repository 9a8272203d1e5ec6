#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "placement_scenario.h"
#include "transcript.h"

// Every file in placement/ is a test of its own.
namespace berth::scenarios {
namespace {

class ScenarioTest : public testing::Test {
 public:
  explicit ScenarioTest(std::string path) : path_(std::move(path)) {}

  void TestBody() override {
    PlacementScenario scenario;
    play(path_, [&](const Step& step) { return scenario.answer(step); });
  }

 private:
  const std::string path_;
};

std::vector<std::filesystem::path> scenario_files() {
  std::vector<std::filesystem::path> files;
  const auto directory = std::filesystem::path(BERTH_SOURCE_DIR) / "tests/scenarios/placement";
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

// Before main, because the list of tests must be complete when it starts.
const bool registered = [] {
  for (const auto& file : scenario_files()) {
    testing::RegisterTest(
        "PlacementScenario", file.stem().c_str(), nullptr, nullptr, file.c_str(), 1,
        [path = file.string()]() -> ScenarioTest* { return new ScenarioTest(path); });
  }
  return true;
}();

}  // namespace
}  // namespace berth::scenarios

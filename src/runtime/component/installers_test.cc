#include "runtime/component/testing.h"

namespace berth::runtime {
namespace {

class RootfsTest : public ComponentTest {
 protected:
  RootfsTest() { open_component(RuntimeType::Rootfs); }
};

TEST_F(RootfsTest, UnpacksWhateverTarKnows) {
  std::uint32_t attempt = 0;
  for (const char* compression : {"--gzip", "--zstd", "--xz", "--no-auto-compress"}) {
    const std::string number = std::to_string(attempt);
    const auto spec = version(number);
    make_archive(number, compression);
    start(spec, attempt);
    EXPECT_EQ(active(), number) << compression;
    stop(spec, attempt);
    ++attempt;
  }
}

TEST_F(RootfsTest, KeepsModesAndLeavesNothingOfTheVersionBefore) {
  const auto first = version("1");
  write(config_.state_dir / "tree" / "bin" / "tool", "");
  ::chmod((config_.state_dir / "tree" / "bin" / "tool").c_str(), 04750);
  make_archive("1");
  start(first, 0);
  struct stat tool {};
  ASSERT_EQ(::stat((directory() / "active" / "bin" / "tool").c_str(), &tool), 0);
  EXPECT_EQ(tool.st_mode & 07777, 04750U);
  std::filesystem::remove_all(config_.state_dir / "tree");
  for (std::uint32_t attempt = 1; attempt <= 2; ++attempt) {
    stop(version(std::to_string(attempt)), attempt - 1);
    start(version(std::to_string(attempt + 1)), attempt);
    EXPECT_FALSE(std::filesystem::exists(directory() / "active" / "bin"));
  }
}

TEST_F(RootfsTest, ADamagedArchiveIsNotActivated) {
  start(version("1"), 0);
  stop(version("1"), 0);
  const auto spec = version("2");
  std::filesystem::resize_file(image("2"), std::filesystem::file_size(image("2")) / 2);
  const model::Problem problem = start_fails(spec, 1);
  EXPECT_EQ(problem.reason, "InstallFailed");
  EXPECT_THAT(problem.message, HasSubstr("tar"));
  EXPECT_EQ(active(), "1");
  EXPECT_FALSE(std::filesystem::exists(directory() / "b")) << "what is no good takes no room";
}

class FirmwareTest : public ComponentTest {
 protected:
  FirmwareTest() { open_component(RuntimeType::Firmware); }

  model::InstanceSpec with(const model::FirmwareImage& image, const std::string& number) {
    auto spec = version(number);
    spec.item.images.front().form = image;
    return spec;
  }
};

TEST_F(FirmwareTest, ACommandThatFailsSaysWhatItSaid) {
  start(version("1"), 0);
  stop(version("1"), 0);
  auto image = firmware("2");
  image.install = shell({"echo the chip is busy; exit 3"});
  const model::Problem problem = start_fails(with(image, "2"), 1);
  EXPECT_EQ(problem.reason, "InstallFailed");
  EXPECT_THAT(problem.message, HasSubstr("ended with 3: the chip is busy; os 1 is active"));
}

TEST_F(FirmwareTest, AnActivationThatFailsIsReverted) {
  start(version("1"), 0);
  stop(version("1"), 0);
  auto image = firmware("2");
  image.activate = shell({"cd \"$1\" && cp running before && mv staged running && exit 4",
                          config_.state_dir.string()});
  EXPECT_EQ(start_fails(with(image, "2"), 1).reason, "ActivationFailed");
  EXPECT_EQ(active(), "1");
}

TEST_F(FirmwareTest, ACommandThatHasBegunIsNotInterrupted) {
  start(version("1"), 0);
  stop(version("1"), 0);
  auto image = firmware("2");
  image.install =
      shell({"cd \"$1\" && touch begun && while [ ! -e go ]; do sleep 0.05; done && "
             "printf 2 > staged",
             config_.state_dir.string()});
  const auto spec = with(image, "2");
  std::thread starting([&] { static_cast<void>(runtime().start(spec, run(1))); });
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(config_.state_dir / "begun"); }));
  runtime().leave();
  write(config_.state_dir / "go", "");
  starting.join();
  EXPECT_EQ(active(), "2");
}

TEST_F(FirmwareTest, IfItCannotBeRevertedNoVersionIsBelievedToBeActive) {
  start(version("1"), 0);
  confirm_by({"/bin/false"});
  stop(version("1"), 0);
  auto image = firmware("2");
  image.revert.clear();
  const model::Problem problem = start_fails(with(image, "2"), 1);
  EXPECT_EQ(problem.reason, "NotConfirmed");
  EXPECT_THAT(problem.message, HasSubstr("nobody knows which version is active"));
  confirm_by({});
  EXPECT_EQ(active(), "2");
  start(version("1"), 2);
  EXPECT_EQ(active(), "1") << "it was installed for real";
}

}  // namespace
}  // namespace berth::runtime

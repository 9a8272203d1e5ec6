#include "runtime/component/testing.h"

namespace berth::runtime {
namespace {

// --- Slots ---------------------------------------------------------------------------------------

class SlotsTest : public ComponentTest, public testing::WithParamInterface<RuntimeType> {
 protected:
  void SetUp() override { open_component(GetParam()); }

  model::InstanceSpec pinned(const std::string& number, const std::string& digest) {
    auto spec = version(number);
    auto& form = spec.item.images.front().form;
    if (auto* rootfs = std::get_if<model::RootfsImage>(&form)) rootfs->archive += "@" + digest;
    if (auto* boot = std::get_if<model::BootImage>(&form)) boot->image += "@" + digest;
    return spec;
  }

  std::string digest_of_image(const std::string& number) {
    version(number);
    const auto outcome = run_command({"sha256sum", image(number).string()}, kPatience);
    return "sha256:" + outcome.value().output.substr(0, 64);
  }
};

INSTANTIATE_TEST_SUITE_P(Slots, SlotsTest, testing::Values(RuntimeType::Rootfs, RuntimeType::Boot),
                         name_of_type);

TEST_P(SlotsTest, APinnedImageIsInstalledIfItIsTheOneThatWasMeant) {
  const std::string digest = digest_of_image("1");
  auto spec = version("0");
  auto& form = spec.item.images.front().form;
  const std::string reference = "os-1@" + digest;
  if (GetParam() == RuntimeType::Rootfs) form = model::RootfsImage{reference};
  if (GetParam() == RuntimeType::Boot) form = model::BootImage{reference};
  start(spec);
  EXPECT_EQ(active(), "1");
}

TEST_P(SlotsTest, AnImageThatIsNotTheOneThatWasMeantIsNotActivated) {
  start(version("1"), 0);
  stop(version("1"), 0);
  const std::string wrong = "sha256:" + std::string(64, '0');
  const model::Problem problem = start_fails(pinned("2", wrong), 1);
  EXPECT_EQ(problem.reason, "VerificationFailed");
  EXPECT_THAT(problem.message, HasSubstr("not " + wrong));
  EXPECT_THAT(problem.message, HasSubstr("os 1 is active"));
  EXPECT_EQ(active(), "1");
}

TEST_P(SlotsTest, ADigestThatIsNoneIsAnError) {
  EXPECT_EQ(start_fails(pinned("1", "sha256:12")).reason, "ImageInvalid");
}

TEST_P(SlotsTest, AnImageThatIsNotThereIsAnError) {
  auto spec = version("1");
  std::filesystem::remove(image("1"));
  const model::Problem problem = start_fails(spec);
  EXPECT_EQ(problem.reason, "ImageNotFound");
  EXPECT_THAT(problem.message, HasSubstr(image("1").string()));
}

TEST_P(SlotsTest, TheSameVersionWithOtherContentIsInstalled) {
  start(version("1"), 0);
  stop(version("1"), 0);
  const auto spec = version("1");
  const auto other_content = version("2");
  std::filesystem::rename(image("2"), image("1"));
  start(spec, 1);
  EXPECT_EQ(active(), "2");
}

TEST_P(SlotsTest, ASystemThatNobodyHasDescribedIsNotWrittenOver) {
  close();
  const auto slot = directory() / "a";
  write(GetParam() == RuntimeType::Rootfs ? slot / "etc" / "version" : slot, "factory");
  std::filesystem::create_symlink("a", directory() / "active");
  restart_agent();
  EXPECT_THAT(list(), IsEmpty());
  start(version("1"));
  EXPECT_EQ(active(), "1");
  EXPECT_EQ(std::filesystem::read_symlink(directory() / "active"), "b");
  EXPECT_TRUE(std::filesystem::exists(slot));
}

TEST_P(SlotsTest, AWrongLinkIsSetRight) {
  start(version("1"), 0);
  stop(version("1"), 0);
  start(version("2"), 1);
  close();
  std::filesystem::remove(directory() / "active");
  std::filesystem::create_symlink("a", directory() / "active");
  ASSERT_EQ(active(), "1");
  restart_agent();
  EXPECT_EQ(active(), "2");
}

TEST_P(SlotsTest, NothingIsWrittenWhileNothingChanges) {
  start(version("1"));
  struct stat before {};
  struct stat after {};
  ASSERT_EQ(::stat(directory().c_str(), &before), 0);
  restart_agent();
  runtime().probe(kPatience);
  list();
  ASSERT_EQ(::stat(directory().c_str(), &after), 0);
  EXPECT_EQ(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
}

}  // namespace
}  // namespace berth::runtime

#include "runtime/component/component_runtime.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "runtime/component/slot_file.h"
#include "runtime/conformance.h"
#include "runtime/shim/files.h"
#include "runtime/supervision/command.h"

// What every runtime of components promises, and what is special about some of them.
namespace berth::runtime {
namespace {

using model::RuntimeType;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void run_program(const std::vector<std::string>& argv) {
  const auto outcome = run_command(argv, kPatience);
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_EQ(outcome->code, 0) << outcome->output;
}

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const std::filesystem::path& file, const std::string& content) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << content;
}

std::vector<std::string> shell(std::vector<std::string> script_and_arguments) {
  std::vector<std::string> argv{"/bin/sh", "-c"};
  argv.insert(argv.end(), script_and_arguments.begin(), script_and_arguments.begin() + 1);
  argv.emplace_back("sh");
  argv.insert(argv.end(), script_and_arguments.begin() + 1, script_and_arguments.end());
  return argv;
}

std::string name_of_type(const testing::TestParamInfo<RuntimeType>& tested) {
  return std::string(model::to_string(tested.param));
}

// A machine with one runtime of components. Every version says what it is when it is active.
class ComponentTest : public RuntimeTest {
 protected:
  ComponentTest() {
    config_.image_dir = config_.state_dir / "images";
    std::filesystem::create_directories(config_.image_dir);
  }

  void open_component(RuntimeType type) {
    type_ = type;
    open(type);
    list();  // as an agent does before anything else
  }
  void restart_agent() { open_component(type_); }

  std::filesystem::path directory() const {
    return config_.state_dir / "components" / model::to_string(type_);
  }
  std::filesystem::path image(const std::string& version) const {
    return config_.image_dir / ("os-" + version);
  }

  // What the machine uses now; "": nothing.
  std::string active() const {
    switch (type_) {
      case RuntimeType::Rootfs: return content_of(directory() / "active" / "etc" / "version");
      case RuntimeType::Boot: return content_of(directory() / "active");
      default: return content_of(config_.state_dir / "running");
    }
  }

  model::InstanceSpec version(const std::string& version) {
    model::InstanceSpec spec;
    spec.key = {model::ItemId{"os"}, model::SubjectId{"vehicle"}, 0};
    spec.item.id = spec.key.item;
    spec.item.type = model::ItemType::Component;
    spec.item.version = version;
    spec.item.images.push_back({.form = form_of(version)});
    spec.runtime = model::RuntimeId{model::to_string(type_)};
    return spec;
  }

  model::ImageForm form_of(const std::string& version) {
    switch (type_) {
      case RuntimeType::Rootfs:
        // Once: an archive has times in it, and one that was made again is another image.
        if (!std::filesystem::exists(image(version))) make_archive(version);
        return model::RootfsImage{"os-" + version};
      case RuntimeType::Boot:
        write(image(version), version);
        return model::BootImage{"os-" + version};
      default: return firmware(version);
    }
  }

  void make_archive(const std::string& version, const std::string& compression = "--gzip") {
    const auto tree = config_.state_dir / "tree";
    write(tree / "etc" / "version", version);
    run_program({"tar", "--create", compression, "--file", image(version).string(), "--directory",
                 tree.string(), "."});
  }

  model::FirmwareImage firmware(const std::string& version) const {
    const std::string place = config_.state_dir.string();
    return {.install = shell({"printf %s \"$1\" > \"$2/staged\"", version, place}),
            .activate = shell({"cd \"$1\" && { [ ! -e running ] || cp running before; } && "
                               "mv staged running",
                               place}),
            .revert = shell({"cd \"$1\" && if [ -e before ]; then mv before running; fi", place})};
  }

  model::Problem start_fails(const model::InstanceSpec& spec, std::uint32_t attempt = 0) {
    const auto started = runtime().start(spec, run(attempt));
    EXPECT_FALSE(started);
    return started ? model::Problem{} : started.error();
  }

  // As the core of the agent does it.
  void stop(const model::InstanceSpec& spec, std::uint32_t attempt = 0) {
    runtime().stop(spec.key, run(attempt), 1s);
    EXPECT_TRUE(ends().wait_for(spec.key, run(attempt)));
  }

  void confirm_by(std::vector<std::string> program, Duration timeout = kPatience) {
    config_.components.confirm = std::move(program);
    config_.components.confirm_timeout = timeout;
    restart_agent();
  }

  model::FoundRun found(const model::InstanceSpec& spec, std::uint32_t attempt = 0) {
    return {spec.key, run(attempt), model::ItemType::Component, spec.item.version, false, spec};
  }

  RuntimeType type_ = RuntimeType::Rootfs;
};

class ComponentConformance : public ComponentTest, public testing::WithParamInterface<RuntimeType> {
 protected:
  void SetUp() override { open_component(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Component, ComponentConformance,
                         testing::Values(RuntimeType::Rootfs, RuntimeType::Boot,
                                         RuntimeType::Firmware),
                         name_of_type);

TEST_P(ComponentConformance, IsReadyOnceProbedAndHasRoomForOne) {
  EXPECT_EQ(runtime().describe().ready, model::Readiness::Unknown);
  const ProbeResult probed = runtime().probe(kPatience);
  EXPECT_EQ(probed.readiness(), model::Readiness::Ready) << probed.message;
  EXPECT_EQ(runtime().describe().type, GetParam());
  EXPECT_EQ(runtime().describe().limits.instances, 1U);
  EXPECT_NE(runtime().describe().platform.arch, "");
}

TEST_P(ComponentConformance, SaysWhyNothingCanBeInstalledHere) {
  confirm_by({"/no/such/program"});
  EXPECT_EQ(runtime().probe(kPatience).readiness(), model::Readiness::NotReady);
  EXPECT_EQ(runtime().probe(kPatience).message,
            "/no/such/program, which confirms updates, cannot be run");
  config_.components.directory = "/proc/components";
  open(GetParam());
  EXPECT_EQ(runtime().probe(kPatience).readiness(), model::Readiness::NotReady);
  EXPECT_THAT(runtime().probe(kPatience).message, HasSubstr("cannot make /proc/components"));
  config_.components = {};
  restart_agent();
}

TEST_P(ComponentConformance, InstallsAVersionAndListsIt) {
  start(version("1"));
  EXPECT_EQ(active(), "1");
  EXPECT_THAT(list(), ElementsAre(found(version("1"))));
}

TEST_P(ComponentConformance, FindsAgainWhatItInstalledInAnEarlierLife) {
  start(version("1"));
  restart_agent();
  EXPECT_THAT(list(), ElementsAre(found(version("1"))));
  EXPECT_EQ(active(), "1");
}

TEST_P(ComponentConformance, EachVersionTakesThePlaceOfTheOneBefore) {
  for (std::uint32_t number = 1; number <= 4; ++number) {
    const auto spec = version(std::to_string(number));
    start(spec, number);
    EXPECT_EQ(active(), std::to_string(number));
    EXPECT_THAT(list(), ElementsAre(found(spec, number)));
    stop(spec, number);
  }
}

TEST_P(ComponentConformance, AStopOnlyEndsTheRun) {
  start(version("1"));
  stop(version("1"));
  EXPECT_EQ(active(), "1");
  EXPECT_THAT(list(), IsEmpty());
  restart_agent();
  EXPECT_EQ(active(), "1");
  EXPECT_THAT(list(), IsEmpty());
}

TEST_P(ComponentConformance, TellsAtOnceThatAnUnknownRunIsOver) {
  runtime().stop(version("1").key, run(3), 1h);
  EXPECT_TRUE(ends().wait_for(version("1").key, run(3)));
}

TEST_P(ComponentConformance, WhatIsInstalledIsNotInstalledAgain) {
  const auto spec = version("1");
  start(spec, 0);
  stop(spec, 0);
  std::filesystem::remove(image("1"));
  std::filesystem::remove_all(config_.state_dir / "staged");
  start(spec, 1);
  EXPECT_EQ(active(), "1");
  EXPECT_FALSE(std::filesystem::exists(config_.state_dir / "staged"));
  EXPECT_THAT(list(), ElementsAre(found(spec, 1)));
}

TEST_P(ComponentConformance, AVersionThatIsNotConfirmedLeavesTheOldOneActiveAndSaysSo) {
  start(version("1"), 0);
  confirm_by({"/bin/false"});
  stop(version("1"), 0);
  const model::Problem problem = start_fails(version("2"), 1);
  EXPECT_EQ(problem.reason, "NotConfirmed");
  EXPECT_THAT(problem.message, HasSubstr("os 1 is active"));
  EXPECT_EQ(active(), "1");
  EXPECT_THAT(list(), IsEmpty());
}

TEST_P(ComponentConformance, TheOldVersionCanBeAskedForAgainAfterAFailedUpdate) {
  start(version("1"), 0);
  confirm_by({"/bin/false"});
  stop(version("1"), 0);
  start_fails(version("2"), 1);
  start(version("1"), 2);
  EXPECT_EQ(active(), "1");
  EXPECT_THAT(list(), ElementsAre(found(version("1"), 2)));
}

TEST_P(ComponentConformance, AFirstVersionThatFailsIsNotKept) {
  confirm_by({"/bin/false"});
  EXPECT_EQ(start_fails(version("1")).reason, "NotConfirmed");
  EXPECT_THAT(list(), IsEmpty());
  if (GetParam() == RuntimeType::Firmware) return;  // what it was before is its own business
  EXPECT_EQ(active(), "");
}

TEST_P(ComponentConformance, AVersionThatIsNotConfirmedInTimeIsRolledBack) {
  start(version("1"), 0);
  confirm_by({"/bin/sleep", "1000"}, 100ms);
  stop(version("1"), 0);
  EXPECT_EQ(start_fails(version("2"), 1).reason, "NotConfirmed");
  EXPECT_EQ(active(), "1");
}

TEST_P(ComponentConformance, TheProgramThatConfirmsSeesWhatItIsAbout) {
  const auto note = config_.state_dir / "confirmed";
  confirm_by(shell({"shift; echo \"$@\" > " + note.string()}));
  start(version("1"));
  EXPECT_THAT(content_of(note), HasSubstr("1"));
}

TEST_P(ComponentConformance, TheHealthCheckOfTheItemConfirmsAVersion) {
  start(version("1"), 0);
  stop(version("1"), 0);
  auto spec = version("2");
  const auto healthy = config_.state_dir / "healthy";
  spec.item.health = model::HealthCheck{
      model::ExecCheck{{"/bin/sh", "-c", "test -e " + healthy.string()}}, 10ms, 2};
  EXPECT_EQ(start_fails(spec, 1).reason, "NotConfirmed");
  EXPECT_EQ(active(), "1");
  write(healthy, "");
  start(spec, 2);
  EXPECT_EQ(active(), "2");
}

TEST_P(ComponentConformance, ChecksThatFailWhileAVersionComesUpDoNotCount) {
  const auto spec = [&] {
    auto built = version("1");
    const auto tries = (config_.state_dir / "tries").string();
    const std::string third = "echo >> " + tries + "; [ $(wc -l < " + tries + ") -ge 3 ]";
    built.item.health = model::HealthCheck{model::ExecCheck{{"/bin/sh", "-c", third}}, 10ms, 1};
    built.item.health->start_period = 1min;
    return built;
  }();
  start(spec, 0);
  EXPECT_EQ(active(), "1");
}

TEST_P(ComponentConformance, TheNextLifeGoesBackFromAVersionThatWasBeingTried) {
  start(version("1"), 0);
  stop(version("1"), 0);
  start(version("2"), 1);
  ASSERT_EQ(active(), "2");
  // As it was just before version 2 was confirmed.
  auto state = load_slots(directory()).value().value();
  state.phase = Phase::Trying;
  state.confirmed = other(*state.confirmed);
  ASSERT_TRUE(save_slots(directory(), state));
  restart_agent();
  EXPECT_EQ(active(), "1");
  EXPECT_THAT(list(), IsEmpty()) << "the run of version 1 had ended";
  start(version("2"), 2);
  EXPECT_EQ(active(), "2");
}

TEST_P(ComponentConformance, AStopInterruptsAnUpdateWhichIsRolledBack) {
  start(version("1"), 0);
  const auto trying = config_.state_dir / "trying";
  confirm_by(shell({"touch " + trying.string() + "; exec sleep 1000"}));
  stop(version("1"), 0);
  const auto spec = version("2");
  std::thread starting([&] { start_fails(spec, 1); });
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(trying); }));
  EXPECT_EQ(active(), "2");
  stop(spec, 1);
  starting.join();
  EXPECT_EQ(active(), "1");
}

TEST_P(ComponentConformance, AnAgentThatLeavesDoesNotWaitForAConfirmation) {
  const auto trying = config_.state_dir / "trying";
  confirm_by(shell({"touch " + trying.string() + "; exec sleep 1000"}));
  const auto spec = version("1");
  std::thread starting([&] { start_fails(spec); });
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(trying); }));
  runtime().leave();
  starting.join();
}

TEST_P(ComponentConformance, AnotherInstanceIsRefusedWhileOneIsInstalled) {
  start(version("1"), 0);
  auto another = version("1");
  another.key.item = model::ItemId{"another"};
  const model::Problem problem = start_fails(another, 0);
  EXPECT_EQ(problem.reason, "SlotTaken");
  EXPECT_THAT(problem.message, HasSubstr("os/vehicle/0"));
  stop(version("1"), 0);
  start(another, 1);
}

TEST_P(ComponentConformance, WhatWasPreinstalledIsListedAndGivesWay) {
  start(version("1"), 0);
  close();
  auto state = load_slots(directory()).value().value();
  state.a->found.run = {};
  state.a->found.key.item = model::ItemId{"factory"};
  ASSERT_TRUE(save_slots(directory(), state));
  restart_agent();
  const model::FoundRun preinstalled = state.a->found;
  EXPECT_THAT(list(), ElementsAre(preinstalled));
  runtime().stop(preinstalled.key, preinstalled.run, 1s);
  EXPECT_TRUE(ends().wait_for(preinstalled.key, preinstalled.run));
  restart_agent();
  EXPECT_THAT(list(), ElementsAre(preinstalled)) << "it was never ours to end";

  start(version("2"), 1);
  EXPECT_EQ(active(), "2");
  const auto end = ends().wait_for(preinstalled.key, preinstalled.run);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->problem.reason, "Replaced");
  EXPECT_THAT(list(), ElementsAre(found(version("2"), 1)));
}

TEST_P(ComponentConformance, RefusesWhatComponentsCannotDo) {
  start(version("1"));
  const auto key = version("1").key;
  EXPECT_EQ(runtime().pause(key).error().code, Code::InvalidInput);
  EXPECT_EQ(runtime().resume(key).error().code, Code::InvalidInput);
  const auto entered = runtime().exec(key, {.command = {"/bin/true"}}, {});
  EXPECT_EQ(entered.error().code, Code::InvalidInput);
  EXPECT_THAT(entered.error().message, HasSubstr("os/vehicle/0 is a component"));
  EXPECT_THAT(runtime().measure(), IsEmpty());
}

TEST_P(ComponentConformance, KnowsNothingOfInstancesThatAreNotInstalled) {
  const auto key = version("1").key;
  EXPECT_EQ(runtime().pause(key).error().code, Code::NotFound);
  EXPECT_EQ(runtime().exec(key, {.command = {"/bin/true"}}, {}).error().code, Code::NotFound);
}

TEST_P(ComponentConformance, AnImageOfAnotherFormIsAProblem) {
  auto spec = version("1");
  spec.item.images.front().form = model::CommandImage{{"/bin/true"}};
  EXPECT_EQ(start_fails(spec).reason, "ImageInvalid");
}

TEST_P(ComponentConformance, ADamagedStateIsAClearErrorAndNothingIsTouched) {
  start(version("1"));
  close();
  write(directory() / "state.json", "{\"phase\": ");
  open(GetParam());
  EXPECT_FALSE(runtime().list());
  EXPECT_EQ(runtime().probe(kPatience).readiness(), model::Readiness::NotReady);
  EXPECT_THAT(runtime().probe(kPatience).message, HasSubstr("state.json is damaged"));
  EXPECT_EQ(start_fails(version("2"), 1).reason, "StorageFailed");
  EXPECT_EQ(active(), "1");
  std::filesystem::remove(directory() / "state.json");  // as the message says
}

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

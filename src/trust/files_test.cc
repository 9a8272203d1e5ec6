#include "trust/files.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace berth::trust {
namespace {

namespace fs = std::filesystem;

class CredentialFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string made = (fs::temp_directory_path() / "files_test.XXXXXX").string();
    ASSERT_NE(mkdtemp(made.data()), nullptr);
    top_ = made;
    directory_ = top_ / "deep/trust";
  }
  void TearDown() override { fs::remove_all(top_); }

  Credentials credentials_for(const std::string& key) {
    const auto now = std::chrono::system_clock::now();
    const std::string request = make_request(key).value();
    return {{key, authority_.sign(request, {Role::Node, "n1"}, std::chrono::hours(1), now).value()},
            authority_.pem().certificate};
  }

  Authority authority_ = Authority::make(std::chrono::system_clock::now()).value();
  fs::path top_;
  fs::path directory_;
};

TEST_F(CredentialFilesTest, AreMissingAtFirst) {
  EXPECT_EQ(load(directory_).error().code, Code::NotFound);
}

TEST_F(CredentialFilesTest, ComeBackAsTheyWere) {
  const Credentials credentials = credentials_for(make_key());
  ASSERT_TRUE(save(directory_, credentials));
  EXPECT_EQ(load(directory_).value(), credentials);
}

TEST_F(CredentialFilesTest, AreForTheirOwnerOnly) {
  ASSERT_TRUE(save(directory_, credentials_for(make_key())));
  EXPECT_EQ(fs::status(directory_).permissions(), fs::perms(0700));
  int count = 0;
  for (const auto& file : fs::directory_iterator(directory_)) {
    EXPECT_EQ(file.status().permissions(), fs::perms(0600)) << file.path();
    ++count;
  }
  EXPECT_EQ(count, 3);
}

TEST_F(CredentialFilesTest, AreReplacedWithTheSameAndWithAnotherKey) {
  const std::string key = make_key();
  ASSERT_TRUE(save(directory_, credentials_for(key)));
  for (const std::string& next_key : {key, make_key()}) {
    const Credentials next = credentials_for(next_key);
    ASSERT_TRUE(save(directory_, next));
    EXPECT_EQ(load(directory_).value(), next);
  }
}

TEST_F(CredentialFilesTest, ThatDoNotBelongTogetherAreNotSaved) {
  Credentials mixed = credentials_for(make_key());
  mixed.own.key = make_key();
  EXPECT_FALSE(save(directory_, mixed));
  EXPECT_EQ(load(directory_).error().code, Code::NotFound);
}

// The two moments at which a power cut can leave a new key beside the old one.
TEST_F(CredentialFilesTest, AreTheOldOrTheNewOnesAfterAPowerCut) {
  const Credentials before = credentials_for(make_key());
  const Credentials after = credentials_for(make_key());
  ASSERT_TRUE(save(directory_, before));
  ASSERT_TRUE(write_secret(directory_ / "key.pem.new", after.own.key));
  EXPECT_EQ(load(directory_).value(), before);
  ASSERT_TRUE(write_secret(files_in(directory_).certificate, after.own.certificate));
  EXPECT_EQ(load(directory_).value(), after);
  EXPECT_EQ(load(directory_).value(), after);
}

TEST_F(CredentialFilesTest, ThatAreDamagedSayWhatToDo) {
  ASSERT_TRUE(save(directory_, credentials_for(make_key())));
  ASSERT_TRUE(write_secret(files_in(directory_).key, "garbage"));
  const auto damaged = load(directory_);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, Code::Damaged);
  EXPECT_NE(damaged.error().message.find("join again"), std::string::npos);
}

}  // namespace
}  // namespace berth::trust

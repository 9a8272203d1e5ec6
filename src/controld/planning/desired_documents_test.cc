#include "controld/planning/desired_documents.h"

#include <gtest/gtest.h>

namespace berth::controld {
namespace {

model::Item item(const std::string& id, const std::string& version) {
  model::Item item;
  item.id = model::ItemId(id);
  item.version = version;
  return item;
}

std::vector<std::string> ids_of(const model::Manifest& documents) {
  std::vector<std::string> ids;
  for (const model::Document& document : documents) ids.push_back(model::id_of(document));
  return ids;
}

class DesiredDocuments : public testing::Test {
 protected:
  DesiredDocuments() {
    for (const model::Item& one : {item("db", "1"), item("web", "1"), item("web", "2")}) {
      durable_.items.emplace(model::key_of(one), one);
    }
    const model::SubjectId car("car");
    durable_.subjects.emplace(car, model::Subject{.id = car});
  }
  model::Manifest of(std::string_view kind, std::string_view name = "") {
    return documents_of(durable_, *model::find_document_kind(kind), name);
  }

  control::Durable durable_;
};

TEST_F(DesiredDocuments, AreListedByKind) {
  EXPECT_EQ(ids_of(of("Item")), (std::vector<std::string>{"db@1", "web@1", "web@2"}));
  EXPECT_EQ(ids_of(of("Subject")), std::vector<std::string>{"car"});
  EXPECT_TRUE(of("Deployment").empty());
}

TEST_F(DesiredDocuments, ANameMeansAllVersionsOrOne) {
  EXPECT_EQ(ids_of(of("Item", "web")), (std::vector<std::string>{"web@1", "web@2"}));
  EXPECT_EQ(ids_of(of("Item", "web@2")), std::vector<std::string>{"web@2"});
  EXPECT_TRUE(of("Item", "webs").empty());
}

TEST_F(DesiredDocuments, ANameWithoutANamespaceIsInTheDefaultOne) {
  for (const std::string space : {"default", "games"}) {
    model::Application echo;
    echo.name = "echo";
    echo.ns = space;
    durable_.applications.emplace(model::key_of(echo), echo);
  }
  EXPECT_EQ(ids_of(of("Application")), (std::vector<std::string>{"default/echo", "games/echo"}));
  EXPECT_EQ(ids_of(of("Application", "games/echo")), std::vector<std::string>{"games/echo"});
  EXPECT_EQ(ids_of(of("Application", "echo")), std::vector<std::string>{"default/echo"});
  EXPECT_EQ(ids_of(of("Namespace")), std::vector<std::string>{"default"});
}

TEST_F(DesiredDocuments, AWriteTellsWhatItDoesToADocument) {
  const auto put = document_change(control::put_write(item("db", "1")));
  ASSERT_TRUE(put && put->document);
  EXPECT_EQ(put->kind->name, "Item");
  EXPECT_EQ(put->id, "db@1");
  const auto erased =
      document_change(control::erase_write<model::Subject>(model::SubjectId("car")));
  ASSERT_TRUE(erased);
  EXPECT_FALSE(erased->document);
  EXPECT_FALSE(document_change(control::put_write(model::CounterRecord{})));
}

}  // namespace
}  // namespace berth::controld

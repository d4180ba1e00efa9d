#include <doctest/doctest.h>

#include "scalecalc/report.hpp"

namespace scalecalc::report {

TEST_CASE("members keep the order in which they were added") {
  Value value;
  value["b"] = 1;
  value["a"]["inner"] = "text";
  value["b"] = 2;
  const auto& members = std::get<Value::Object>(value.data());
  REQUIRE(members.size() == 2);
  CHECK(members[0].first == "b");
  CHECK(std::get<std::int64_t>(members[0].second.data()) == 2);
  REQUIRE(value.find("a") != nullptr);
  CHECK(value.find("a")->find("inner") != nullptr);
  CHECK(value.find("c") == nullptr);
  CHECK(Value(1).find("a") == nullptr);
}

TEST_CASE("a null becomes what is asked of it, nothing else does") {
  Value list;
  list.push_back(1);
  list.push_back("two");
  CHECK(std::get<Value::Array>(list.data()).size() == 2);
  CHECK_THROWS_AS(list["key"], Error);
  Value number = 3;
  CHECK_THROWS_AS(number["key"], Error);
  CHECK_THROWS_AS(number.push_back(1), Error);
}

TEST_CASE("scalars have their paths") {
  Value value = Value::object();
  value["a"] = 1;
  value["b"]["inner"] = "text";
  value["c"].push_back(2);
  value["c"].push_back(records({{"d"}, {{3}, {4}}}));
  value["e"] = Value::array();
  const auto scalars = scalars_of(value);
  std::string paths;
  for (const auto& [path, scalar] : scalars) paths += path + " ";
  CHECK(paths == "a b.inner c[0] c[1][0].d c[1][1].d ");
  CHECK(std::get<std::int64_t>(scalars.back().second.data()) == 4);
  CHECK(scalars_of(Value(5)).front().first.empty());
}

TEST_CASE("text is a string, not a truth value") {
  CHECK(std::holds_alternative<std::string>(Value("yes").data()));
  CHECK(std::holds_alternative<bool>(Value(true).data()));
}

}  // namespace scalecalc::report

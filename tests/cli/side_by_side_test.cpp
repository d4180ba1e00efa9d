#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "cli/side_by_side/lines.hpp"

namespace scalecalc::cli {
namespace {

using report::Value;
using Names = std::vector<std::string>;

Value results(double alpha, const std::vector<std::pair<std::string, double>>& sites) {
  Value value = Value::object();
  value["alpha"] = alpha;
  value["formula"] = "1/N";
  value["sites"] = Value::array();
  for (const auto& [path, second] : sites) {
    Value site = Value::object();
    site["path"] = path;
    site["second"] = second;
    value["sites"].push_back(site);
  }
  return value;
}

const Line& line_of(const std::vector<LineBlock>& blocks, const std::string& title,
                    const std::string& name) {
  for (const LineBlock& block : blocks)
    for (const Line& line : block.lines)
      if (block.title() == title && line.name == name) return line;
  FAIL("no line ", name, " in ", title);
  std::abort();
}

bool is_subsequence(const Names& part, const Names& whole) {
  std::size_t next = 0;
  for (const std::string& name : whole)
    if (next < part.size() && part[next] == name) ++next;
  return next == part.size();
}

TEST_CASE("merged names keep the order of every list that agrees with the first") {
  CHECK(merged_order({{"a", "b", "c"}, {"a", "x", "c", "y"}}) == Names{"a", "b", "x", "c", "y"});
  CHECK(merged_order({{}, {"a"}, {}}) == Names{"a"});
  std::mt19937 draw(1);
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<Names> lists(3);
    for (int name = 0; name < 12; ++name)
      for (Names& list : lists)
        if (draw() % 2 == 0) list.push_back(std::string(1, static_cast<char>('a' + name)));
    const Names merged = merged_order(lists);
    for (const Names& list : lists) {
      for (const std::string& name : list)
        CHECK(std::count(merged.begin(), merged.end(), name) == 1);
    }
    CHECK(is_subsequence(lists[0], merged));
    CHECK(is_subsequence(lists[1], merged));
  }
}

TEST_CASE("differences have their size") {
  const Value a = results(2, {{"in", 1}, {"only", 5}, {"out", 4}});
  const Value b = results(2 * (1 + 1e-15), {{"in", -1}, {"out", 1}});
  const auto blocks = compared_blocks({&a, &b}, {{"sites", {"second"}}});
  CHECK(!line_of(blocks, "In numbers", "alpha").difference.differs);
  CHECK(!line_of(blocks, "In words", "formula").difference.differs);
  const Line& out = line_of(blocks, "sites: second", "out");
  CHECK(out.difference.differs);
  CHECK(*out.difference.ratio == 4);
  const Line& in = line_of(blocks, "sites: second", "in");
  CHECK(in.difference.differs);
  CHECK(!in.difference.ratio);
  const Line& only = line_of(blocks, "sites: second", "only");
  CHECK(only.difference.differs);
  CHECK(!only.values[1]);
}

TEST_CASE("of several numbers the ratio is that of the largest to the smallest") {
  const Value a = results(-3, {}), b = results(-12, {}), c = results(-6, {}), zero = results(0, {});
  CHECK(*line_of(compared_blocks({&a, &b, &c}, {}), "In numbers", "alpha").difference.ratio == 4);
  CHECK(!line_of(compared_blocks({&a, &b, &zero}, {}), "In numbers", "alpha").difference.ratio);
}

TEST_CASE("what no run has a value for, and what is equal, is left out where it should be") {
  const Value a = results(std::nan(""), {{"in", 1}, {"out", 2}});
  const Value b = results(std::nan(""), {{"in", 1}, {"out", 3}});
  const auto blocks =
      compared_blocks({&a, &b}, {{.name = "sites", .members = {"second"}, .only_differing = true}});
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0].title() == "In words");
  REQUIRE(blocks[1].lines.size() == 1);
  CHECK(blocks[1].lines[0].name == "out");
}

}  // namespace
}  // namespace scalecalc::cli

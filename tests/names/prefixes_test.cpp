#include <doctest/doctest.h>

#include "names/prefixes.hpp"

namespace scalecalc::names {
namespace {

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a name is tried as it is, then without prefixes of the naming and of wrappers") {
  const Naming naming{"own", "", Layout::out_in, {"bert."}, {}, {}, {}};
  CHECK(bare_names("x.weight", naming) == Names{"x.weight"});
  CHECK(bare_names("module.bert.x.weight", naming) ==
        Names{"module.bert.x.weight", "bert.x.weight", "x.weight"});
  CHECK(bare_names("bertx.weight", naming) == Names{"bertx.weight"});
}

TEST_CASE("at most three prefixes are taken away") {
  const std::string deep = "module.module.module.module.x";
  CHECK(bare_names(deep, Naming{}).size() == 4);
  CHECK(bare_names(deep, Naming{}).back() == "module.x");
}

}  // namespace scalecalc::names

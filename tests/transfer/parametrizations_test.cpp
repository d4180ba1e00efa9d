#include <doctest/doctest.h>

#include "scalecalc/transfer.hpp"

using namespace scalecalc;

namespace {

std::string failure(const char* toml) {
  try {
    parse_parametrization(toml, "mine.toml");
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a file of a parametrisation") {
  const Parametrization mine = parse_parametrization(R"toml(
base = "mup"
[branch]
multiplier = "r_L^(-1/2)"
[hidden]
lr = "r_n^-1*r_L^(-1/2)"
std = "0.02*r_n^(-1/2)"
[output]
multiplier = 1
)toml",
                                                     "mine.toml");
  CHECK(mine.base == "mup");
  REQUIRE(mine.branch);
  CHECK((*mine.branch)[GrowthAxis::depth] == Rational(-1, 2));
  REQUIRE(mine.kinds.size() == 2);
  CHECK(mine.kinds[0].first == "hidden");
  CHECK(mine.kinds[0].second.lr->formula() == "r_n^-1*r_L^(-1/2)");
  CHECK(mine.kinds[0].second.std->formula() == "r_n^(-1/2)");
  CHECK_FALSE(mine.kinds[0].second.multiplier);
  CHECK(mine.kinds[1].second.multiplier->formula() == "1");
}

TEST_CASE("wrong files of a parametrisation say where") {
  CHECK(failure("bsae = \"mup\"").find("base") != std::string::npos);
  CHECK(failure("base = \"mupp\"").find("mup") != std::string::npos);
  CHECK(failure("base = 1").find("mine.toml:1") != std::string::npos);
  CHECK(failure("[hiden]\nlr = 1").find("hidden") != std::string::npos);
  CHECK(failure("hidden = 1").find("table") != std::string::npos);
  CHECK(failure("[hidden]\nlrr = 1").find("lr") != std::string::npos);
  CHECK(failure("[hidden]\nlr = \"r_n + 1\"").find("no product") != std::string::npos);
  CHECK(failure("[hidden]\nlr = \"-r_n\"").find("no product") != std::string::npos);
  CHECK(failure("[hidden]\nlr = \"width\"").find("r_n") != std::string::npos);
  CHECK(failure("[hidden]\nlr = -1").find("formula") != std::string::npos);
  CHECK(failure("[branch]\nlr = \"r_L\"").find("multiplier") != std::string::npos);
  CHECK_THROWS_AS(parametrization_from("mu-p"), Error);
  CHECK_THROWS_AS(parametrization_from("/nowhere/mine.toml"), Error);
}

TEST_CASE("a multiplier that is given leaves the std to be solved") {
  TransferProblem problem;
  problem.optimizer = transfer_optimizer("adam");
  problem.parametrization =
      parse_parametrization("[hidden]\nmultiplier = \"r_n^(-1/4)\"", "mine.toml");
  problem.axes = {GrowthAxis::width};
  const TransferSolution solution = solve_transfer(problem);
  CHECK(solution.tensors[1].std[GrowthAxis::width] == Rational(-1, 4));
  CHECK(solution.tensors[1].lr[GrowthAxis::width] == Rational(-3, 4));
  problem.parametrization = parametrization_from("mup");
  CHECK(same_parametrization(problem, parametrization_from("auto")).same);
}

TEST_CASE("a learning rate that is given and too large is named") {
  TransferProblem problem;
  problem.optimizer = transfer_optimizer("adam");
  problem.parametrization = parse_parametrization("base = \"mup\"\n[hidden]\nlr = 1", "mine.toml");
  problem.axes = {GrowthAxis::width};
  const TransferSolution solution = solve_transfer(problem);
  int broken = 0;
  for (const TransferBinding& binding : solution.bindings)
    if (!binding.holds) {
      ++broken;
      CHECK(binding.tensor == "hidden");
    }
  CHECK(broken == 1);
  const SameParametrization same = same_parametrization(problem, parametrization_from("mup"));
  CHECK_FALSE(same.same);
  CHECK(same.kinds[1].name == "hidden");
  CHECK_FALSE(same.kinds[1].same);
  CHECK(same.kinds[0].same);
}

TEST_CASE("alignments") {
  CHECK(to_string(alignment_from("full")) == "full");
  CHECK(to_string(alignment_from("1/2,1/2,1/2")) == "none");
  CHECK(to_string(alignment_from("1,0.5,3/4")) == "1,1/2,3/4");
  for (const char* wrong : {"", "half", "1,1", "1,1,1,1", "2,1,1", "-1,1,1", "1,nan,1", "1,,1"})
    CHECK_THROWS_AS(alignment_from(wrong), Error);
}

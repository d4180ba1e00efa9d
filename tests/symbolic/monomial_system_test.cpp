#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

using Status = MonomialSolution::Status;

MonomialSolution solve_system(const std::vector<std::string>& unknowns,
                              const std::vector<std::pair<const char*, const char*>>& equations) {
  MonomialSystem system;
  system.unknowns = unknowns;
  for (const auto& [left, right] : equations) {
    system.equations.emplace_back(formula(left), formula(right));
  }
  const MonomialSolution solution = solve(system);
  if (solution.status == Status::unique) {
    for (const auto& [left, right] : system.equations) {
      const Expr ratio = substitute(left / right, solution.values);
      CHECK(equal(ratio, 1).verdict == Equality::Verdict::equal);
    }
  }
  return solution;
}

}  // namespace

TEST_CASE("the equations of depth scaling") {
  const auto sgd =
      solve_system({"alpha", "lambda"}, {{"2*N*(lambda/alpha)^2", "1"}, {"lambda", "1/alpha"}});
  REQUIRE(sgd.status == Status::unique);
  CHECK(to_string(sgd.values.at("alpha")) == "(2*N)^(1/4)");
  CHECK(to_string(sgd.values.at("lambda")) == "(2*N)^(-1/4)");
  CHECK(sgd.matrix == std::vector<std::vector<Rational>>{{-2, 2}, {1, 1}});
  const auto adam =
      solve_system({"alpha", "lambda"}, {{"2*N*lambda/alpha", "1"}, {"lambda*alpha", "1"}});
  CHECK(to_string(adam.values.at("alpha")) == "(2*N)^(1/2)");
  const auto lamb =
      solve_system({"alpha", "lambda"}, {{"2*N*lambda^2/alpha", "1"}, {"alpha", "1"}});
  CHECK(lamb.values.at("alpha").is_one());
  CHECK(to_string(lamb.values.at("lambda")) == "(2*N)^(-1/2)");
}

TEST_CASE("three unknowns with rational exponents") {
  const auto solution =
      solve_system({"a", "b", "c"}, {{"a^2*b", "N"}, {"b^(1/2)*c", "3*M"}, {"c*a", "2^(1/3)"}});
  CHECK(solution.status == Status::unique);
}

TEST_CASE("too few equations name what is free") {
  const auto one = solve_system({"alpha", "lambda"}, {{"lambda/alpha", "1/N"}});
  CHECK(one.status == Status::underdetermined);
  CHECK(one.free == std::vector<std::string>{"lambda"});
  const auto twice = solve_system({"a", "b"}, {{"a*b", "N"}, {"a^2*b^2", "N^2"}});
  CHECK(twice.status == Status::underdetermined);
  CHECK(solve_system({"a"}, {}).status == Status::underdetermined);
}

TEST_CASE("contradictions give what would have to be 1") {
  const auto solution = solve_system({"alpha", "lambda"},
                                     {{"2*N*lambda/alpha", "1"}, {"alpha", "1"}, {"lambda", "1"}});
  CHECK(solution.status == Status::inconsistent);
  CHECK(equal(pow(solution.contradiction, 2), pow(formula("2*N"), 2)).verdict ==
        Equality::Verdict::equal);
  const auto negative = solve_system({"alpha"}, {{"alpha", "-2"}});
  CHECK(negative.status == Status::inconsistent);
  CHECK(negative.contradiction == Expr(-1));
  CHECK(solve_system({"a"}, {{"a", "1"}, {"a", "sin(1)^2 + cos(1)^2"}}).status == Status::unique);
  CHECK(solve_system({}, {{"N", "1"}}).status == Status::inconsistent);
  CHECK(solve_system({}, {{"1", "1"}}).status == Status::unique);
}

TEST_CASE("sides that are no monomials are errors") {
  for (const auto& [left, right] : std::vector<std::pair<const char*, const char*>>{
           {"a + 1", "2"}, {"exp(a)", "2"}, {"a", "0"}, {"0", "a"}, {"a^N", "2"}}) {
    INFO(left, " = ", right);
    CHECK(mentions(message_of([&] { solve_system({"a"}, {{left, right}}); }), "monomial"));
  }
}

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "scalecalc/transfer.hpp"

using namespace scalecalc;

namespace {

constexpr GrowthAxis width = GrowthAxis::width, depth = GrowthAxis::depth;

TransferProblem problem_of(const std::string& optimizer, const std::string& parametrization,
                           const std::string& alignment = "full", int matrices = 2) {
  TransferProblem problem;
  problem.model = generic_transfer_model(matrices);
  problem.optimizer = transfer_optimizer(optimizer);
  problem.parametrization = parametrization_from(parametrization);
  problem.alignment = alignment_from(alignment);
  return problem;
}

const TensorTransfer& kind(const TransferSolution& solution, TensorKind kind) {
  for (const TensorTransfer& tensor : solution.tensors)
    if (tensor.tensor.kind == kind) return tensor;
  throw Error(ErrorKind::fault, "no such kind");
}

std::vector<std::string> rates(const TransferSolution& solution, GrowthAxis axis) {
  std::vector<std::string> result;
  for (const TensorTransfer& tensor : solution.tensors)
    result.push_back(tensor.lr[axis].to_string());
  return result;
}

using Texts = std::vector<std::string>;

/// lr of embedding, hidden and output in width.
struct Row {
  const char* parametrization;
  const char* optimizer;
  const char* alignment;
  Texts lr;
};

}  // namespace

TEST_CASE("learning rates in width by hand: change = multiplier * lr * |U| * fan_in^alpha = 1") {
  // delta, the gradient behind the last block, is the larger of the head's init and its change;
  // an entry of a hidden gradient is multiplier * delta, of the head's its multiplier.
  const std::vector<Row> rows = {
      // delta = n^-1/2 (standard, ntk), n^-1 (mup, mean-field)
      {"standard", "sgd", "full", {"1/2", "-1/2", "-1"}},
      {"standard", "adam", "full", {"0", "-1", "-1"}},
      {"standard", "adafactor", "full", {"0", "-1/2", "-1/2"}},
      {"ntk", "sgd", "full", {"1/2", "1/2", "0"}},
      {"ntk", "adam", "full", {"0", "-1/2", "-1/2"}},
      {"ntk", "adafactor", "full", {"0", "-1/2", "-1/2"}},
      {"mup", "sgd", "full", {"0", "0", "0"}},
      {"mup", "adam", "full", {"-1/2", "-1", "-1/2"}},
      {"mup", "adafactor", "full", {"0", "-1/2", "0"}},
      {"mean-field", "sgd", "full", {"1", "1", "1"}},
      {"mean-field", "adam", "full", {"0", "-1/2", "0"}},
      {"mean-field", "adafactor", "full", {"0", "-1/2", "0"}},
      // Without alignment sums over fan_in grow as its root; relative steps stay below theta.
      {"standard", "sgd", "none", {"1/2", "0", "-1/2"}},
      {"standard", "adam", "none", {"0", "-1/2", "-1/2"}},
      {"standard", "adafactor", "none", {"0", "0", "0"}},
      {"ntk", "adam", "none", {"0", "0", "0"}},
      {"mup", "adam", "none", {"-1/2", "-1/2", "0"}},
      {"mup", "adafactor", "none", {"0", "0", "0"}},
      {"mean-field", "adam", "none", {"0", "0", "1/2"}},
      // A head that moves by n^-1/2 sets delta of all.
      {"mup", "sgd", "none", {"-1/2", "0", "1/2"}},
      // Singular values of 1, with an entry n^-1/2 of all three shapes.
      {"standard", "muon", "full", {"1/2", "0", "-1/2"}},
      {"mup", "muon", "full", {"0", "0", "0"}},
      {"spectral", "muon", "full", {"1/2", "0", "-1/2"}},
      {"mup", "sqrt(fan_out/fan_in)*orthogonal(g)", "full", {"-1/2", "0", "1/2"}},
      {"mup", "muon+adamw", "full", {"-1/2", "0", "-1/2"}},
      {"u-mup", "adamw", "full", {"0", "-1/2", "0"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.parametrization);
    CAPTURE(row.optimizer);
    CAPTURE(row.alignment);
    TransferProblem problem = problem_of(row.optimizer, row.parametrization, row.alignment);
    problem.axes = {width};
    Texts found = rates(solve_transfer(problem), width);
    found.resize(3);
    CHECK(found == row.lr);
  }
}

TEST_CASE("a solution does not depend on how multiplier and std share a size") {
  // The symmetry of section 6: standard and ntk differ by it, and so do mup, mean-field, spectral.
  for (const char* optimizer :
       {"sgd", "adam", "lamb", "lars", "muon", "shampoo(1/8,1/4)", "sign(g)*abs(g)^(1/2)",
        "0.2*sqrt(max(fan_in, fan_out))*orthogonal(g)"}) {
    CAPTURE(optimizer);
    for (const char* alignment : {"full", "none", "3/4,1/2,1"}) {
      const TransferProblem mup = problem_of(optimizer, "mup", alignment);
      for (const char* other : {"mean-field", "spectral", "auto", "depth-mup", "complete-p"}) {
        TransferProblem first = mup;
        first.axes = {width};
        CAPTURE(other);
        CHECK(same_parametrization(first, parametrization_from(other)).same);
      }
      TransferProblem standard = problem_of(optimizer, "standard", alignment);
      standard.axes = {width};
      CHECK(same_parametrization(standard, parametrization_from("ntk")).same);
      CHECK_FALSE(same_parametrization(standard, parametrization_from("mup")).same);
    }
  }
}

TEST_CASE("depth: L equal branches whose changes add") {
  const auto solved = [](const char* optimizer, const char* parametrization, int matrices) {
    TransferProblem problem = problem_of(optimizer, parametrization, "full", matrices);
    problem.axes = {depth};
    return solve_transfer(problem);
  };
  {  // every order of a branch of two matrices contributes
    const TransferSolution adam = solved("adamw", "complete-p", 2);
    CHECK(adam.branch[depth] == Rational(-1));
    CHECK(kind(adam, TensorKind::hidden).lr[depth] == Rational(0));
    CHECK((*kind(adam, TensorKind::hidden).eps)[depth] == Rational(-1));
    CHECK((*kind(adam, TensorKind::embedding).eps)[depth] == Rational(0));
    CHECK(kind(solved("sgd", "complete-p", 2), TensorKind::hidden).lr[depth] == Rational(1));
  }
  {  // one matrix: variance at init and sum of changes are met together
    const TransferSolution adam = solved("adamw", "complete-p", 1);
    CHECK(adam.branch[depth] == Rational(-1, 2));
    CHECK(kind(adam, TensorKind::hidden).lr[depth] == Rational(-1, 2));
  }
  for (const int matrices : {1, 2, 5}) {
    const TransferSolution adam = solved("adam", "depth-mup", matrices);
    CHECK(adam.branch[depth] == Rational(-1, 2));
    CHECK(kind(adam, TensorKind::hidden).lr[depth] == Rational(-1, 2));
    CHECK(kind(adam, TensorKind::bias).lr[depth] == Rational(-1, 2));
    CHECK(kind(adam, TensorKind::output).lr[depth] == Rational(0));
    CHECK(kind(solved("sgd", "depth-mup", matrices), TensorKind::hidden).lr[depth] == Rational(0));
    CHECK((*kind(adam, TensorKind::hidden).eps)[depth] == Rational(-1, 2));
    // Said where the second order dies, and only there.
    CHECK(adam.warnings.empty() == (matrices == 1));
  }
}

TEST_CASE("depth: a given power of the branch") {
  TransferProblem problem = problem_of("adam", "mup");
  problem.axes = {depth};
  for (const auto& [alpha, lr] : {std::pair{Rational(1, 2), "-1/2"},
                                  {Rational(3, 4), "-1/4"},
                                  {Rational(1), "0"},
                                  {Rational(3, 2), "0"}}) {
    problem.depth_alpha = alpha;
    CHECK(kind(solve_transfer(problem), TensorKind::hidden).lr[depth].to_string() == lr);
  }
  // Without norms the variance of the sum binds.
  problem.depth_alpha = Rational(1, 4);
  problem.model.norm = StreamNorm::none;
  const TransferSolution broken = solve_transfer(problem);
  bool said = false;
  for (const TransferBinding& binding : broken.bindings)
    said = said || (binding.bound == "branch_variance" && !binding.holds);
  CHECK(said);
  CHECK_FALSE(broken.warnings.empty());
}

TEST_CASE("batch and tokens: the noise of a step") {
  TransferProblem problem = problem_of("sgd", "mup");
  problem.axes = {GrowthAxis::batch, GrowthAxis::tokens};
  const auto hidden = [&](const char* optimizer) {
    problem.optimizer = transfer_optimizer(optimizer);
    return kind(solve_transfer(problem), TensorKind::hidden);
  };
  constexpr GrowthAxis batch = GrowthAxis::batch, tokens = GrowthAxis::tokens;
  const TensorTransfer sgd = hidden("sgd"), adam = hidden("adam"),
                       root = hidden("shampoo(1/8,1/8)");
  CHECK(sgd.lr[batch] == Rational(1));
  CHECK((*sgd.decay)[batch] == Rational(0));
  CHECK_FALSE(sgd.eps);
  CHECK_FALSE(sgd.one_minus_beta);
  CHECK(adam.lr[batch] == Rational(1, 2));
  CHECK((*adam.decay)[batch] == Rational(1, 2));
  CHECK((*adam.eps)[batch] == Rational(-1, 2));
  CHECK((*adam.one_minus_beta)[batch] == Rational(1));
  CHECK(root.lr[batch] == Rational(3, 4));
  CHECK((*root.eps)[batch] == Rational(-1));
  for (const TensorTransfer& each : {sgd, adam, root}) {
    CHECK(each.lr[tokens] == Rational(-1, 2));
    CHECK(each.lr[tokens] + (*each.decay)[tokens] == Rational(-1));
    CHECK(each.multiplier[batch] == Rational(0));
  }
}

TEST_CASE("eps is as large as what it is added to") {
  TransferProblem problem = problem_of("adam", "mup");
  problem.axes = {width};
  const auto eps = [&](const char* optimizer, TensorKind of) {
    problem.optimizer = transfer_optimizer(optimizer);
    const auto found = kind(solve_transfer(problem), of).eps;
    return found ? (*found)[width].to_string() : "none";
  };
  // gradients n^-1/2, n^-1, n^-1/2 of V x n, n x n, n x V
  CHECK(eps("adam", TensorKind::embedding) == "-1/2");
  CHECK(eps("adam", TensorKind::hidden) == "-1");
  CHECK(eps("adam", TensorKind::output) == "-1/2");
  CHECK(eps("muon", TensorKind::hidden) == "0");
  CHECK(eps("muon", TensorKind::embedding) == "0");
  CHECK(eps("shampoo", TensorKind::hidden) == "0");
  CHECK(eps("adafactor", TensorKind::hidden) == "-2");
  CHECK(eps("lion", TensorKind::hidden) == "none");
  CHECK(eps("sgd", TensorKind::hidden) == "none");
}

TEST_CASE("alignment of the head's old value with moved features binds all before it") {
  TransferProblem problem = problem_of("adam", "standard", "1,1,1");
  problem.axes = {width};
  const TransferSolution solution = solve_transfer(problem);
  CHECK(rates(solution, width) == Texts{"-1/2", "-3/2", "-1", "-1/2"});
  problem.parametrization = parametrization_from("mup");
  CHECK(rates(solve_transfer(problem), width) == Texts{"-1/2", "-1", "-1/2", "0"});
}

TEST_CASE("decay laws") {
  TransferProblem problem = problem_of("adam", "depth-mup", "full", 1);
  const auto decay = [&](DecayLaw law, GrowthAxis axis) {
    problem.decay = law;
    return (*kind(solve_transfer(problem), TensorKind::hidden).decay)[axis].to_string();
  };
  CHECK(decay(DecayLaw::rate, width) == "1");
  CHECK(decay(DecayLaw::rate, depth) == "1/2");
  CHECK(decay(DecayLaw::root_width, width) == "1/2");
  CHECK(decay(DecayLaw::constant, width) == "0");
  // |sign(g)| = n, |theta| = 1; with one matrix lr * decay fades as L^-1/2.
  CHECK(decay(DecayLaw::update_share, width) == "1");
  CHECK(decay(DecayLaw::update_share, depth) == "0");
}

TEST_CASE("an axis that is left out has exponent 0") {
  TransferProblem problem = problem_of("adam", "mup");
  problem.axes = {width};
  for (const TensorTransfer& tensor : solve_transfer(problem).tensors)
    for (const GrowthAxis axis : {depth, GrowthAxis::batch, GrowthAxis::heads}) {
      CHECK(tensor.lr[axis].is_zero());
      CHECK(tensor.eps.value()[axis].is_zero());
      CHECK(tensor.standard_excess[axis].is_zero());
    }
}

TEST_CASE("loss change at a kept learning rate is deepnorm's criterion") {
  for (const auto& [optimizer, power] : {std::pair{"sgd", Rational(-1, 2)},
                                         {"adam", Rational(-1)},
                                         {"ngd", Rational(-1, 2)},
                                         {"muon", Rational(-1)},
                                         {"shampoo(1/8,1/8)", Rational(-2, 3)}}) {
    CAPTURE(optimizer);
    TransferProblem problem = problem_of(optimizer, "mup");
    problem.axes = {depth};
    const auto criteria = solve_transfer(problem).criteria;
    REQUIRE(criteria);
    REQUIRE(criteria->loss_change);
    CHECK((*criteria->loss_change)[depth] == power);
    CHECK(criteria->feature_change[depth] == Rational(-1));
    // Of the published pairs: alpha at lambda = 1 is the inverse.
    problem.axes = {width};
    CHECK_FALSE(solve_transfer(problem).criteria);
  }
}

TEST_CASE("rules of every degree in the gradient have a solution on every axis") {
  // Degree -1, where the change of the loss knows nothing of the branch's multiplier, among them.
  for (const auto& [optimizer, is_any] : {std::pair{"shampoo(0,0)", false},
                                          {"shampoo(1/4,0)", false},
                                          {"shampoo(1/4,1/2)", false},
                                          {"shampoo(1/2,1/2)", true},
                                          {"shampoo(1,0)", true},
                                          {"g/norm(g)", false},
                                          {"g/norm(g)^2", true},
                                          {"sign(g)/rms(g)", true},
                                          {"g/norm(g)^3", false},
                                          {"g*norm(g)", false}})
    for (const std::string& parametrization : parametrization_names())
      for (const GrowthAxis axis : {width, depth, GrowthAxis::batch, GrowthAxis::tokens}) {
        CAPTURE(optimizer);
        CAPTURE(parametrization);
        CAPTURE(to_string(axis));
        TransferProblem problem = problem_of(optimizer, parametrization);
        problem.axes = {axis};
        TransferSolution solution;
        REQUIRE_NOTHROW(solution = solve_transfer(problem));
        REQUIRE(solution.criteria.has_value() == (axis == depth));
        if (solution.criteria) CHECK(solution.criteria->loss_change.has_value() == !is_any);
      }
}

TEST_CASE("factors of a tensor do not depend on how a parametrisation shares them") {
  const std::array<double, growth_axes> ratios = {8, 4, 1, 1, 1, 1};
  int shared = 0;
  for (const char* optimizer : {"sgd", "adam", "adamw", "lion", "muon", "shampoo", "adafactor"}) {
    for (const std::string& first : parametrization_names()) {
      for (const std::string& second : parametrization_names()) {
        const TransferProblem one = problem_of(optimizer, first);
        const TransferProblem other = problem_of(optimizer, second);
        const SameParametrization compared = same_parametrization(one, other.parametrization);
        const TransferSolution a = solve_transfer(one), b = solve_transfer(other);
        for (std::size_t i = 0; i < compared.kinds.size(); ++i) {
          if (first == second || !compared.kinds[i].same) continue;
          CAPTURE(optimizer);
          CAPTURE(first);
          CAPTURE(second);
          CAPTURE(compared.kinds[i].name);
          const TensorFactors of_a = factors_at(a.tensors[i], ratios);
          const TensorFactors of_b = factors_at(b.tensors[i], ratios);
          CHECK(of_a.std == doctest::Approx(of_b.std));
          CHECK(of_a.lr == doctest::Approx(of_b.lr));
          CHECK(of_a.decay == doctest::Approx(of_b.decay));
          CHECK(of_a.eps == doctest::Approx(of_b.eps));
          if (!(compared.kinds[i].factor == Exponents())) ++shared;
        }
      }
    }
  }
  // Not of equal numbers alone.
  CHECK(shared > 20);
}

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "scalecalc/transfer.hpp"

using namespace scalecalc;

// One tensor of two uses, what --same asks of it and of rules, and what is said of trades.

namespace {

constexpr GrowthAxis width = GrowthAxis::width;

TransferProblem tied(const char* optimizer, const Parametrization& parametrization) {
  ModelSpec spec = find_model("gpt2");
  spec.tie_head = true;
  spec.head_bias = false;
  TransferProblem problem;
  problem.model = transfer_model(spec, {width});
  problem.optimizer = transfer_optimizer(optimizer);
  problem.parametrization = parametrization;
  problem.axes = {width};
  return problem;
}
TransferProblem generic(const char* optimizer, const Parametrization& parametrization) {
  TransferProblem problem;
  problem.optimizer = transfer_optimizer(optimizer);
  problem.parametrization = parametrization;
  problem.axes = {width};
  return problem;
}
Parametrization file(const char* toml) {
  return parse_parametrization(toml, "mine.toml");
}

const TensorTransfer& named(const TransferSolution& solution, const std::string& name) {
  for (const TensorTransfer& tensor : solution.tensors)
    if (tensor.tensor.name == name) return tensor;
  throw Error(ErrorKind::fault, "no tensor " + name);
}
const TransferBinding& binding(const TransferSolution& solution, const std::string& name) {
  for (const TransferBinding& each : solution.bindings)
    if (each.tensor == name && each.quantity == "lr") return each;
  throw Error(ErrorKind::fault, "no binding of " + name);
}

constexpr const char* trade = "a slower head";
bool says(const TransferSolution& solution, const std::string& what) {
  return std::ranges::any_of(solution.warnings, [&](const std::string& line) {
    return line.find(what) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("what a file gives to one use of a tied tensor holds for both") {
  for (const char* section : {"embedding", "output"})
    for (const auto& [key, value] : {std::pair{"lr", "r_n^(-7/4)"},
                                     {"std", "r_n^(-3/2)"},
                                     {"decay", "r_n^(1/8)"},
                                     {"eps", "r_n^(-3/8)"}}) {
      CAPTURE(section);
      CAPTURE(key);
      const std::string toml =
          std::string("base = \"mup\"\n[") + section + "]\n" + key + " = \"" + value + "\"";
      const TransferSolution solution = solve_transfer(tied("adamw", file(toml.c_str())));
      const std::string name = key;
      for (const char* use : {"embedding.weight", "head.weight"}) {
        CAPTURE(use);
        const TensorTransfer& tensor = named(solution, use);
        const Exponents& number = name == "lr"      ? tensor.lr
                                  : name == "std"   ? tensor.std
                                  : name == "decay" ? *tensor.decay
                                                    : *tensor.eps;
        CHECK(number.formula() == value);
      }
      // The table of positions is a tensor of its own: what is given of its kind alone is its own.
      const Exponents plain =
          named(solve_transfer(tied("adamw", parametrization_from("mup"))), "embedding.position")
              .lr;
      if (std::string_view(section) == "output")
        CHECK(named(solution, "embedding.position").lr == plain);
    }
  CHECK_THROWS_AS(
      solve_transfer(tied("adamw", file("[embedding]\nlr = 1\n[output]\nlr = \"r_n^-1\""))), Error);
  CHECK_NOTHROW(solve_transfer(
      tied("adamw", file("[embedding]\nlr = \"r_n^-1\"\n[output]\nlr = \"1/r_n\""))));
  // Too large a rate is named for the use that it breaks.
  const TransferSolution broken =
      solve_transfer(tied("adamw", file("base = \"standard\"\n[embedding]\nlr = \"r_n^(-1/2)\"")));
  CHECK_FALSE(binding(broken, "head.weight").holds);
}

TEST_CASE("which use of a tied tensor binds is said") {
  const TransferSolution standard = solve_transfer(tied("adamw", parametrization_from("standard")));
  CHECK(binding(standard, "head.weight").bound == "own_change");
  // Its features begin at n^(-1/2), and a step may change them by as much.
  CHECK(binding(standard, "embedding.weight").bound == "other_use");
  const TransferSolution lion = solve_transfer(tied("muon", parametrization_from("standard")));
  int met = 0;
  for (const char* use : {"embedding.weight", "head.weight"})
    met += binding(lion, use).bound != "other_use" ? 1 : 0;
  CHECK(met >= 1);
}

TEST_CASE("one tensor of two uses has one t") {
  // mup and spectral are one by t = n^(-1/2) of the table and n^(1/2) of the head: not when they
  // are one tensor.
  const SameParametrization tied_uses =
      same_parametrization(tied("adamw", parametrization_from("mup")),
                           file("base = \"mup\"\n[embedding]\nmultiplier = 1"));
  CHECK_FALSE(tied_uses.same);
  CHECK(same_parametrization(tied("adamw", parametrization_from("mup")), file("base = \"mup\""))
            .same);
  // With the same t of both, and the numbers of one theta.
  const SameParametrization both = same_parametrization(
      tied("adamw", parametrization_from("mup")),
      file("base = \"mup\"\n[embedding]\nmultiplier = \"r_n\"\nstd = \"r_n^-1\"\n[output]\n"
           "multiplier = 1"));
  for (const SameParametrization::Kind& each : both.kinds)
    if (each.name == "output") {
      CAPTURE(each.difference);
      CHECK(each.same);
    }
}

TEST_CASE("a rule of several powers is the same at t = 1 alone") {
  for (const char* rule : {"max(rms(theta), 1/1000)*sign(g)", "g + theta", "sign(g) + theta"}) {
    CAPTURE(rule);
    const TransferProblem problem = generic(rule, parametrization_from("mup"));
    CHECK(same_parametrization(problem, parametrization_from("mup")).same);
    CHECK_FALSE(same_parametrization(problem, parametrization_from("mean-field")).same);
  }
  CHECK(same_parametrization(generic("rms(theta)*sign(g)", parametrization_from("mup")),
                             parametrization_from("mean-field"))
            .same);
}

TEST_CASE("eps goes as t, or as t^2 where it stands beside squares") {
  for (const auto& [optimizer, power] :
       {std::pair{"adam", 1}, {"muon", 1}, {"soap", 1}, {"adafactor", 2}, {"shampoo", 2}}) {
    CAPTURE(optimizer);
    const TransferProblem problem = generic(optimizer, parametrization_from("mup"));
    const Exponents eps = *solve_transfer(problem).tensors[1].eps;
    for (const int guess : {1, 2}) {
      // mean-field's hidden multiplier is n^(-1/2) of mup's.
      Parametrization moved = parametrization_from("mean-field");
      GivenNumbers numbers;
      numbers.eps = eps;
      (*numbers.eps)[width] = (*numbers.eps)[width] - Rational(guess, 2);
      moved.kinds.emplace_back("hidden", numbers);
      CHECK(same_parametrization(problem, moved).same == (guess == power));
    }
  }
}

TEST_CASE("a head that outgrows its init takes from those whose rule asks for the gradient") {
  const auto solved = [](const char* optimizer, const char* alignment) {
    TransferProblem problem = generic(optimizer, parametrization_from("mup"));
    problem.alignment = alignment_from(alignment);
    return solve_transfer(problem);
  };
  // Without alignment a head moves by n^(1/2) lr |U| = 1, above its init.
  CHECK(says(solved("sgd", "none"), trade));
  CHECK_FALSE(says(solved("sgd", "full"), trade));
  CHECK_FALSE(says(solved("adam", "none"), trade));
  // A mixture: hidden matrices of one rule, the head of the other.
  CHECK(says(solved("sgd+adamw", "none"), trade));
  CHECK(says(solved("adamw+sgd", "none"), trade));  // the embedding's
  CHECK_FALSE(says(solved("muon+adamw", "none"), trade));
}

TEST_CASE("soap's eps is beside the norm of a matrix, an output's bias is beside its gradient") {
  TransferProblem problem = generic("soap", parametrization_from("mup"));
  // Of an n x n matrix with entries n^-1, and of the head's n x V with n^(-1/2).
  CHECK((*solve_transfer(problem).tensors[1].eps)[width] == Rational(0));
  CHECK((*solve_transfer(problem).tensors[2].eps)[width] == Rational(0));
  ModelSpec spec = find_model("gpt2");
  spec.head_bias = true;
  problem.model = transfer_model(spec, {width, GrowthAxis::depth});
  problem.axes = {width, GrowthAxis::depth};
  problem.optimizer = transfer_optimizer("adamw");
  const TransferSolution solution = solve_transfer(problem);
  const TensorTransfer& bias = named(solution, "head.bias");
  CHECK(bias.tensor.kind == TensorKind::output_bias);
  CHECK(bias.lr.formula() == "1");
  CHECK(bias.eps->formula() == "1");
  CHECK(bias.gradient.formula() == "1");
}

TEST_CASE("kinds of convolutions") {
  const TransferModel model = transfer_model(find_model("resnet-v2"), {width});
  const auto kind = [&](const std::string& name) {
    for (const TransferTensor& tensor : model.tensors)
      if (tensor.name == name) return tensor.kind;
    throw Error(ErrorKind::fault, "no tensor " + name);
  };
  CHECK(kind("stem.weight") == TensorKind::embedding);  // 3 colours stay 3
  CHECK(kind("stage1[*].block.conv2d[*].weight") == TensorKind::hidden);
  CHECK(kind("down2.shortcut.conv2d[*].weight") == TensorKind::hidden);
  CHECK(kind("last_norm.gain") == TensorKind::norm_gain);
  CHECK(kind("head.weight") == TensorKind::output);
}

TEST_CASE("a post-norm stream refuses what leaves no share of the input") {
  TransferProblem problem = generic("adam", parametrization_from("mup"));
  problem.axes = {GrowthAxis::depth};
  problem.model.norm = StreamNorm::each_sum;
  const TransferSolution refused = solve_transfer(problem);
  CHECK(says(refused, "exponentially small share"));
  CHECK(std::ranges::any_of(refused.bindings, [](const TransferBinding& each) {
    return each.bound == "branch_variance" && !each.holds;
  }));
  problem.parametrization = parametrization_from("depth-mup");
  CHECK_FALSE(says(solve_transfer(problem), "exponentially small share"));
}

TEST_CASE("logits that grow at init are named") {
  TransferProblem problem = generic("adam", file("base = \"mup\"\n[output]\nmultiplier = \"r_n\""));
  const TransferSolution solution = solve_transfer(problem);
  CHECK(says(solution, "logits grow as r_n at init"));
  CHECK(std::ranges::any_of(solution.bindings, [](const TransferBinding& each) {
    return each.bound == "logits_at_init" && !each.holds && each.tensor == "output";
  }));
}

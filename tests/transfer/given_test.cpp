#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "scalecalc/transfer.hpp"

using namespace scalecalc;

// What a file of a parametrisation gives: honoured on every axis, and judged.

namespace {

constexpr GrowthAxis width = GrowthAxis::width, depth = GrowthAxis::depth,
                     batch = GrowthAxis::batch, tokens = GrowthAxis::tokens;
const std::vector<GrowthAxis> all_axes = {width, depth, batch, tokens};
const Rational half(1, 2);

using Member = std::optional<Exponents> GivenNumbers::*;
struct Key {
  const char* name;
  Member member;
};
const std::vector<Key> keys = {{"multiplier", &GivenNumbers::multiplier},
                               {"std", &GivenNumbers::std},
                               {"lr", &GivenNumbers::lr},
                               {"decay", &GivenNumbers::decay},
                               {"eps", &GivenNumbers::eps}};

TransferProblem problem_of(const char* optimizer, const Parametrization& parametrization,
                           const std::vector<GrowthAxis>& axes = all_axes) {
  TransferProblem problem;
  problem.optimizer = transfer_optimizer(optimizer);
  problem.parametrization = parametrization;
  problem.axes = axes;
  return problem;
}

Exponents number(const TensorTransfer& tensor, const std::string& key) {
  return key == "multiplier" ? tensor.multiplier
         : key == "std"      ? tensor.std
         : key == "lr"       ? tensor.lr
         : key == "decay"    ? tensor.decay.value()
                             : tensor.eps.value();
}

/// A random file over a base, and its own generator.
class Files {
 public:
  explicit Files(std::uint64_t seed) : draw_(seed) {}

  Rational power() { return {static_cast<std::int64_t>(draw_() % 9) - 4, 4}; }
  bool coin() { return draw_() % 2 == 0; }
  Exponents exponents() {
    Exponents result;
    for (const GrowthAxis axis : all_axes) result[axis] = coin() ? power() : Rational(0);
    return result;
  }
  Parametrization file() {
    const auto& names = parametrization_names();
    Parametrization result{"file", names[draw_() % names.size()], {}, {}};
    for (const char* kind : {"embedding", "hidden", "output", "bias"}) {
      GivenNumbers numbers;
      bool any = false;
      for (const Key& key : keys)
        if (draw_() % 4 == 0) {
          numbers.*key.member = exponents();
          any = true;
        }
      if (any) result.kinds.emplace_back(kind, numbers);
    }
    if (draw_() % 4 == 0) result.branch = exponents();
    return result;
  }

 private:
  std::mt19937_64 draw_;
};

const TensorTransfer& kind(const TransferSolution& solution, const std::string& name) {
  for (const TensorTransfer& tensor : solution.tensors)
    if (to_string(tensor.tensor.kind) == name) return tensor;
  throw Error(ErrorKind::fault, "no kind " + name);
}

bool is_broken(const TransferSolution& solution, const std::string& bound,
               const std::string& tensor, GrowthAxis axis) {
  return std::ranges::any_of(solution.bindings, [&](const TransferBinding& binding) {
    return !binding.holds && binding.bound == bound && binding.tensor == tensor &&
           binding.axis == axis;
  });
}

}  // namespace

TEST_CASE("what a file gives stands in the answer on every axis, and the rest is its base's") {
  Files files(1);
  for (int trial = 0; trial < 300; ++trial) {
    CAPTURE(trial);
    const Parametrization file = files.file();
    CAPTURE(file.base);
    const TransferSolution solution = solve_transfer(problem_of("adamw", file));
    const Parametrization base{file.base, file.base, {}, {}};
    const TransferSolution plain = solve_transfer(problem_of("adamw", base));
    for (const auto& [name, numbers] : file.kinds) {
      CAPTURE(name);
      const TensorTransfer& found = kind(solution, name);
      for (const Key& key : keys) {
        CAPTURE(key.name);
        const auto& given = numbers.*key.member;
        if (given) CHECK(number(found, key.name) == *given);
        const bool starts =
            key.member == &GivenNumbers::multiplier || key.member == &GivenNumbers::std;
        if (!given && starts && file.base != "auto")
          CHECK(number(found, key.name) == number(kind(plain, name), key.name));
      }
      // Where nothing stands behind the file, multiplier and std make sizes of 1 together.
      if (file.base == "auto" && !(numbers.multiplier && numbers.std))
        for (const GrowthAxis axis : all_axes) {
          const Rational inputs = found.tensor.fan_in[axis] * half;
          const Rational logits = name == "output" ? inputs : Rational(0);
          CHECK(found.multiplier[axis] + found.std[axis] + inputs + logits == Rational(0));
        }
    }
    if (file.branch) CHECK(solution.branch == *file.branch);
  }
}

TEST_CASE("any number of a file that is moved on any axis is another parametrisation") {
  for (const char* optimizer : {"adamw", "sgd", "muon+adamw"})
    for (const char* base : {"mup", "complete-p", "standard"})
      for (const GrowthAxis axis : all_axes)
        for (const char* name : {"embedding", "hidden", "output", "bias"})
          for (const Key& key : keys) {
            const TransferProblem problem = problem_of(optimizer, parametrization_from(base));
            const TensorTransfer plain = kind(solve_transfer(problem), name);
            const bool has_eps = plain.eps.has_value();
            if (key.member == &GivenNumbers::eps && !has_eps) continue;
            CAPTURE(optimizer);
            CAPTURE(base);
            CAPTURE(name);
            CAPTURE(key.name);
            CAPTURE(to_string(axis));
            Exponents moved = number(plain, key.name);
            Parametrization file{"file", base, {}, {}};
            GivenNumbers numbers;
            numbers.*key.member = moved;
            file.kinds.emplace_back(name, numbers);
            CHECK(same_parametrization(problem, file).same);
            moved[axis] = moved[axis] - Rational(1, 4);
            file.kinds[0].second.*key.member = moved;
            CHECK_FALSE(same_parametrization(problem, file).same);
          }
  for (const GrowthAxis axis : all_axes) {
    const TransferProblem problem = problem_of("adamw", parametrization_from("mup"));
    Parametrization file{"file", "mup", {}, Exponents()};
    CHECK(same_parametrization(problem, file).same);
    (*file.branch)[axis] = Rational(-1, 4);
    const SameParametrization moved = same_parametrization(problem, file);
    CHECK_FALSE(moved.same);
    CHECK_FALSE(moved.same_branch);
  }
}

TEST_CASE("multiplier * t and std / t of a file leave the answer the same on every axis") {
  Files files(2);
  for (const char* optimizer : {"adamw", "sgd", "muon", "lamb", "shampoo(1/8,1/4)"})
    for (int trial = 0; trial < 60; ++trial) {
      CAPTURE(optimizer);
      CAPTURE(trial);
      TransferProblem problem = problem_of(optimizer, parametrization_from("mup"));
      const TransferSolution plain = solve_transfer(problem);
      Parametrization file{"file", "mup", {}, {}};
      for (const char* name : {"embedding", "hidden", "output", "bias"}) {
        const Exponents t = files.exponents();
        GivenNumbers numbers;
        numbers.multiplier = kind(plain, name).multiplier;
        numbers.std = kind(plain, name).std;
        for (const GrowthAxis axis : all_axes) {
          (*numbers.multiplier)[axis] = (*numbers.multiplier)[axis] + t[axis];
          (*numbers.std)[axis] = (*numbers.std)[axis] - t[axis];
        }
        file.kinds.emplace_back(name, numbers);
      }
      const SameParametrization same = same_parametrization(problem, file);
      for (const SameParametrization::Kind& each : same.kinds) CAPTURE(each.difference);
      CHECK(same.same);
    }
}

TEST_CASE("sizes at init that a file breaks are named, and no others") {
  Files files(3);
  int broken = 0;
  for (int trial = 0; trial < 400; ++trial) {
    CAPTURE(trial);
    const Parametrization file = files.file();
    const TransferSolution solution = solve_transfer(problem_of("adamw", file));
    for (const TensorTransfer& tensor : solution.tensors)
      for (const GrowthAxis axis : all_axes) {
        const std::string name = to_string(tensor.tensor.kind);
        CAPTURE(name);
        // The root mean square of fan_in terms of independent signs.
        const Rational size =
            tensor.multiplier[axis] + tensor.std[axis] + tensor.tensor.fan_in[axis] * half;
        const auto given =
            std::ranges::find_if(file.kinds, [&](const auto& each) { return each.first == name; });
        const bool starts = name != "bias" || (given != file.kinds.end() && given->second.std);
        const bool grows = starts && Rational(0) < size;
        const char* bound = name == "output" ? "logits_at_init" : "features_at_init";
        CHECK(is_broken(solution, bound, tensor.tensor.name, axis) == grows);
        broken += grows ? 1 : 0;
      }
  }
  CHECK(broken > 100);
  for (const std::string& name : parametrization_names()) {
    const TransferSolution solution =
        solve_transfer(problem_of("adamw", parametrization_from(name)));
    CHECK(std::ranges::none_of(solution.bindings, [](const TransferBinding& binding) {
      return binding.bound == "features_at_init" || binding.bound == "logits_at_init";
    }));
  }
}

TEST_CASE("a branch of a model without branches is refused") {
  TransferProblem problem = problem_of("adamw", parametrization_from("mup"), {width, depth});
  problem.model = transfer_model(find_model("mlp-relu"), {width, depth});
  CHECK_NOTHROW(solve_transfer(problem));
  problem.parametrization.branch = Exponents();
  CHECK_THROWS_AS(solve_transfer(problem), Error);
}

TEST_CASE("a rate above what keeps the noise is named") {
  Parametrization file{"file", "mup", {}, {}};
  GivenNumbers numbers;
  numbers.lr = Exponents();
  (*numbers.lr)[batch] = 1;
  file.kinds.emplace_back("hidden", numbers);
  const TransferSolution solution = solve_transfer(problem_of("adamw", file, {batch, tokens}));
  CHECK(is_broken(solution, "noise", "hidden", batch));
  CHECK(is_broken(solution, "noise", "hidden", tokens));  // r_D^0, and r_D^(-1/2) keeps it
  CHECK_FALSE(is_broken(solution, "noise", "bias", batch));
}

TEST_CASE("a branch's multiplier over the width: a stream that norms read may grow") {
  Parametrization file{"file", "mup", {}, Exponents()};
  (*file.branch)[width] = Rational(1, 2);
  TransferProblem problem = problem_of("adamw", file, {width});
  const TransferSolution normed = solve_transfer(problem);
  CHECK(kind(normed, "hidden").lr[width] == Rational(-1));
  // Behind norms of a stream that is n^(1/2) all that stands in front of it counts less.
  CHECK((*kind(normed, "embedding").eps)[width] == Rational(-1));
  problem.model.norm = StreamNorm::none;
  const TransferSolution plain = solve_transfer(problem);
  CHECK(is_broken(plain, "branch_variance", "branch", width));
  CHECK(kind(plain, "hidden").lr[width] == Rational(-3, 2));
  problem.model.norm = StreamNorm::each_sum;
  CHECK(is_broken(solve_transfer(problem), "branch_variance", "branch", width));
  // One that falls leaves the others as they are, and carries its gradients.
  (*problem.parametrization.branch)[width] = -half;
  const TransferSolution small = solve_transfer(problem);
  CHECK(kind(small, "hidden").lr[width] == Rational(-1));
  CHECK((*kind(small, "hidden").eps)[width] == Rational(-3, 2));
  CHECK_FALSE(is_broken(small, "branch_variance", "branch", width));
}

TEST_CASE("gradients that each round enlarges are an error, those that settle are found") {
  Parametrization file{"file", "mup", {}, {}};
  GivenNumbers numbers;
  numbers.lr = Exponents();
  (*numbers.lr)[width] = 2;
  file.kinds.emplace_back("output", numbers);
  CHECK_THROWS_AS(solve_transfer(problem_of("g*global_norm(g)", file, {width})), Error);
  // The gradient behind the head is G = r^x, x = -1/2 + 2 + (-1/2 - s/2) of a norm r^s whose
  // largest part is that of the n^2 entries x of the hidden matrix, s = x + 1.
  const TransferSolution settled =
      solve_transfer(problem_of("g/global_norm(g)^(1/2)", file, {width}));
  CHECK(kind(settled, "output").gradient[width] == Rational(-1, 2));
  CHECK(kind(settled, "hidden").gradient[width] == Rational(1, 3));
}

TEST_CASE("published rates of sgd without alignment: those beside a head that is held slow") {
  // Tables that maximise the sum of all rates (tables/claims/published/transfer_optimizers.toml)
  // hold the head where its step is no larger than its init. Given that rate, the largest stable
  // ones of the others are the table's.
  struct Row {
    const char* base;
    Rational output, embedding, hidden;
  };
  for (const Row& row : {Row{"mup", 0, 0, half}, Row{"mean-field", 1, 1, Rational(3, 2)}}) {
    CAPTURE(row.base);
    GivenNumbers head;
    head.lr.emplace()[width] = row.output;
    TransferProblem problem =
        problem_of("sgd", Parametrization{"file", row.base, {{"output", head}}, {}}, {width});
    problem.alignment = alignment_from("none");
    for (const TensorTransfer& tensor : solve_transfer(problem).tensors) {
      if (tensor.tensor.kind == TensorKind::embedding) CHECK(tensor.lr[width] == row.embedding);
      if (tensor.tensor.kind == TensorKind::hidden) CHECK(tensor.lr[width] == row.hidden);
    }
  }
}

TEST_CASE("the scale of scores that a file gives is used, compared and judged") {
  const ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  TransferProblem problem = problem_of("adamw", parametrization_from("mup"), {width});
  problem.model = transfer_model(spec, problem.axes);
  const auto file = [](const char* scale) {
    return parse_parametrization(
        std::string("base = \"mup\"\n[attention]\nscale = \"") + scale + "\"\n", "file");
  };
  CHECK(same_parametrization(problem, file("r_n^-1")).same);
  const SameParametrization other = same_parametrization(problem, file("r_n^(-1/2)"));
  CHECK_FALSE(other.same);
  CHECK_FALSE(other.same_attention);
  problem.parametrization = file("r_n^(-1/2)");
  const TransferSolution solution = solve_transfer(problem);
  CHECK((*solution.scores)[width] == -half);
  CHECK((*solution.attention)[width] == Rational(-1));
  problem.model = generic_transfer_model();
  CHECK_THROWS_AS(solve_transfer(problem), Error);
  CHECK_THROWS_AS(parse_parametrization("[attention]\nstd = 1\n", "file"), Error);
}

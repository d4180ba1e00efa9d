#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "scalecalc/transfer.hpp"

using namespace scalecalc;

namespace {

const std::vector<std::string> optimizers = {"adamw", "sgd",  "muon+adamw",
                                             "lion",  "lamb", "shampoo(1/4,1/4)"};

TransferProblem problem_of(const std::string& optimizer, const std::string& parametrization,
                           GrowthAxis axis, const ModelSpec* spec = nullptr) {
  TransferProblem problem;
  problem.optimizer = transfer_optimizer(optimizer);
  problem.parametrization = parametrization_from(parametrization);
  problem.axes = {axis};
  if (spec) problem.model = transfer_model(*spec, problem.axes);
  return problem;
}

ModelSpec small_model() {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  spec.placement = Placement::pre;
  spec.layers = 2;
  spec.bias = spec.norm_affine = true;
  return spec;
}

/// Of what a model keeps itself where it grows so many times.
TransferProblem own_problem(const std::string& optimizer, const ModelSpec& small, GrowthAxis axis,
                            std::int64_t times) {
  TransferProblem problem = problem_of(optimizer, "standard", axis, &small);
  problem.parametrization = own_parametrization(small, grown(small, axis, times),
                                                static_cast<double>(times), axis, problem.model);
  return problem;
}

/// All numbers of a solution, tensor by tensor.
Parametrization given_by(const TransferSolution& solution) {
  Parametrization made{"file", "mup", {}, {}};
  for (const TensorTransfer& tensor : solution.tensors)
    made.tensors.emplace_back(
        tensor.tensor.name,
        GivenNumbers{tensor.multiplier, tensor.std, tensor.lr, tensor.decay, tensor.eps});
  return made;
}

}  // namespace

TEST_CASE("findings: a named parametrisation has none, for its learning rates are solved for") {
  const ModelSpec spec = small_model();
  for (const std::string& optimizer : optimizers)
    for (const std::string& parametrization : parametrization_names())
      for (const GrowthAxis axis : {GrowthAxis::width, GrowthAxis::depth, GrowthAxis::batch}) {
        CAPTURE(optimizer);
        CAPTURE(parametrization);
        CAPTURE(to_string(axis));
        CHECK(transfer_findings(problem_of(optimizer, parametrization, axis, &spec)).empty());
      }
}

TEST_CASE("findings: one number that is moved is named, with what it should be, and no other") {
  const ModelSpec spec = small_model();
  std::mt19937_64 draw(7);
  int planted = 0;
  for (const char* optimizer : {"adamw", "muon+adamw", "lion"})
    for (const GrowthAxis axis : {GrowthAxis::width, GrowthAxis::depth})
      for (int trial = 0; trial < 60; ++trial) {
        TransferProblem problem = problem_of(optimizer, "complete-p", axis, &spec);
        const TransferSolution right = solve_transfer(problem);
        problem.parametrization = given_by(right);
        problem.parametrization.branch = right.branch;
        REQUIRE(transfer_findings(problem).empty());
        const std::size_t at = draw() % right.tensors.size();
        const TensorTransfer& tensor = right.tensors[at];
        const Rational by(static_cast<std::int64_t>(draw() % 4) + 1, 4);
        GivenNumbers& numbers = problem.parametrization.tensors[at].second;
        const char* quantity = "lr";
        Rational wants = tensor.lr[axis];
        if (draw() % 3 == 0 && tensor.eps) {
          quantity = "eps";
          wants = (*tensor.eps)[axis];
          (*numbers.eps)[axis] = wants + by;
        } else {
          const bool more = draw() % 2 == 0;
          (*numbers.lr)[axis] = more ? wants + by : wants - by;
          // Its decay goes on at the right rate.
          (*numbers.decay)[axis] = -(*numbers.lr)[axis];
        }
        CAPTURE(optimizer);
        CAPTURE(to_string(axis));
        CAPTURE(tensor.tensor.name);
        CAPTURE(quantity);
        const std::vector<TransferFinding> found = transfer_findings(problem);
        const auto is_planted = [&](const TransferFinding& finding) {
          return finding.tensor == tensor.tensor.name && finding.quantity == quantity &&
                 finding.axis == axis;
        };
        const auto named = std::ranges::find_if(found, is_planted);
        REQUIRE(named != found.end());
        CHECK(named->wants == wants);
        for (const TransferFinding& finding : found) {
          CAPTURE(finding.tensor);
          CAPTURE(finding.quantity);
          CHECK(is_planted(finding));
        }
        ++planted;
      }
  CHECK(planted == 360);
}

TEST_CASE("findings: what a model keeps when its width grows, by hand") {
  const ModelSpec small = small_model(), large = grown(small, GrowthAxis::width, 4);
  TransferProblem problem = problem_of("adamw", "standard", GrowthAxis::width, &small);
  problem.parametrization = own_parametrization(small, large, 4, GrowthAxis::width, problem.model);
  const std::vector<TransferFinding> found = transfer_findings(problem);
  const auto wants = [&](const std::string& tensor, const std::string& quantity) {
    for (const TransferFinding& finding : found)
      if (finding.tensor == tensor && finding.quantity == quantity)
        return finding.wants.to_string();
    return std::string("kept");
  };
  // lecun: std fan_in^(-1/2). Adam's entries are of size 1, and add up over fan_in.
  CHECK(wants("block[*].attn.q.weight", "lr") == "-1");
  CHECK(wants("block[*].ffn.out.weight", "lr") == "-1");
  CHECK(wants("head.weight", "lr") == "-1");
  CHECK(wants("block[*].ffn.in.bias", "lr") == "kept");
  CHECK(wants("block[*].attn.q.weight", "std") == "kept");
  CHECK(wants("attention", "scale") == "-1");
  // lr * decay is kept, as it should be; eps stays while gradients fall.
  CHECK(wants("block[*].attn.q.weight", "decay") == "kept");
  CHECK(wants("block[*].attn.q.weight", "eps") != "kept");
}

TEST_CASE("findings: a std that is the same at every width") {
  ModelSpec small = small_model();
  small.init.scheme = "std";
  small.init.std = 0.02;
  const TransferProblem problem = own_problem("adamw", small, GrowthAxis::width, 2);
  bool named = false;
  for (const TransferFinding& finding : transfer_findings(problem))
    if (finding.tensor == "block[*].ffn.in.weight" && finding.quantity == "std") {
      named = true;
      CHECK(finding.has == Rational(0));
      CHECK(finding.wants == Rational(-1, 2));
    }
  CHECK(named);
}

TEST_CASE("own_parametrization: branches and their stds over depth") {
  ModelSpec small = small_model();
  small.alpha = pow(Expr::symbol("N"), Rational(1, 2));
  small.init.scheme = "gpt2";
  ModelSpec large = small;
  large.layers = 8;
  const TransferModel model = transfer_model(small, {GrowthAxis::depth});
  const Parametrization own = own_parametrization(small, large, 4, GrowthAxis::depth, model);
  REQUIRE(own.branch);
  CHECK((*own.branch)[GrowthAxis::depth] == Rational(-1, 2));
  for (const auto& [name, numbers] : own.tensors) {
    CAPTURE(name);
    const bool closes = name == "block[*].attn.o.weight" || name == "block[*].ffn.out.weight";
    if (numbers.std)
      CHECK((*numbers.std)[GrowthAxis::depth] == (closes ? Rational(-1, 2) : Rational(0)));
  }
}

TEST_CASE("findings: learning rates are judged beside stds that are mended") {
  ModelSpec small = small_model();
  small.init.scheme = "std";
  small.init.std = 0.02;
  const TransferProblem problem = own_problem("adamw", small, GrowthAxis::width, 2);
  int judged = 0;
  for (const TransferFinding& finding : transfer_findings(problem)) {
    CAPTURE(finding.tensor);
    if (finding.quantity != "lr") continue;
    ++judged;
    CHECK(finding.wants == Rational(-1));
  }
  CHECK(judged == 7);  // q, k, v, o, in, out, head
}

TEST_CASE("findings: a branch that grows is named, and learning rates beside one that does not") {
  ModelSpec small = small_model();
  small.placement = Placement::post;  // the norms on the sums hold the stream, and lose the input
  const TransferProblem problem = own_problem("adamw", small, GrowthAxis::depth, 4);
  const std::vector<TransferFinding> found = transfer_findings(problem);
  REQUIRE_FALSE(found.empty());
  CHECK(found.front().tensor == "branch");
  CHECK(found.front().wants == Rational(-1, 2));
  for (const TransferFinding& finding : found)
    if (finding.quantity == "lr" && finding.tensor.ends_with(".weight")) {
      CAPTURE(finding.tensor);
      CHECK(finding.wants == Rational(-1, 2));
    }
}

TEST_CASE("own_parametrization: the first layer of a stack is none of the hidden ones") {
  ModelSpec small = default_spec(ModelSpec::Kind::mlp);
  small.layers = 4;
  const ModelSpec large = grown(small, GrowthAxis::width, 2);
  const TransferModel model = transfer_model(small, {GrowthAxis::width});
  const Parametrization own = own_parametrization(small, large, 2, GrowthAxis::width, model);
  int hidden = 0, first = 0;
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    const std::optional<Exponents>& std = own.tensors[i].second.std;
    if (!std) continue;
    const bool maps_input = model.tensors[i].kind == TensorKind::embedding;
    CHECK((*std)[GrowthAxis::width] == (maps_input ? Rational(0) : Rational(-1, 2)));
    ++(maps_input ? first : hidden);
  }
  CHECK(first == 1);
  CHECK(hidden == 2);
}

TEST_CASE("findings: what a model with a tied head keeps") {
  ModelSpec small = small_model();
  small.input.kind = InputKind::tokens;
  small.tie_head = true;
  for (const char* scheme : {"lecun", "gpt2"}) {
    CAPTURE(scheme);
    small.init.scheme = scheme;
    const TransferProblem problem = own_problem("adamw", small, GrowthAxis::width, 4);
    const std::vector<TransferFinding> found = transfer_findings(problem);
    CHECK(std::ranges::any_of(found, [](const TransferFinding& finding) {
      return finding.tensor == "block[*].attn.q.weight" && finding.quantity == "lr" &&
             finding.wants == Rational(-1);
    }));
  }
}

TEST_CASE("findings: under NTK the rate of what a multiplier shrinks is theta's own") {
  ModelSpec small = small_model();
  small.ntk = true;
  const ModelSpec large = grown(small, GrowthAxis::width, 4);
  TransferProblem problem = problem_of("sgd", "ntk", GrowthAxis::width, &small);
  const TransferSolution right = solve_transfer(problem);
  problem.parametrization = own_parametrization(small, large, 4, GrowthAxis::width, problem.model);
  for (const TransferFinding& finding : transfer_findings(problem)) {
    if (finding.quantity != "lr") continue;
    CAPTURE(finding.tensor);
    for (const TensorTransfer& tensor : right.tensors)
      if (tensor.tensor.name == finding.tensor)
        CHECK(finding.wants == tensor.lr[GrowthAxis::width]);
  }
}

TEST_CASE("findings: multipliers of branches that grow over width, or vanish over depth") {
  const ModelSpec spec = small_model();
  const auto wants = [&](GrowthAxis axis, const Rational& has) {
    TransferProblem problem = problem_of("adamw", "mup", axis, &spec);
    problem.parametrization.branch = Exponents();
    (*problem.parametrization.branch)[axis] = has;
    for (const TransferFinding& finding : transfer_findings(problem))
      if (finding.tensor == "branch") return finding.wants.to_string();
    return std::string("kept");
  };
  CHECK(wants(GrowthAxis::width, 1) == "0");
  CHECK(wants(GrowthAxis::width, -1) == "0");
  CHECK(wants(GrowthAxis::width, 0) == "kept");
  CHECK(wants(GrowthAxis::depth, 1) == "0");
  CHECK(wants(GrowthAxis::depth, -3) == "-1");
  for (const Rational& between : {Rational(0), Rational(-1, 2), Rational(-1)})
    CHECK(wants(GrowthAxis::depth, between) == "kept");
}

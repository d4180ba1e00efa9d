#include <algorithm>
#include <optional>

#include "claims/library.hpp"
#include "claims/networks.hpp"
#include "scalecalc/transfer.hpp"

namespace scalecalc::claims {
namespace {

/// A named one: files of others are the command's matter.
Parametrization named_parametrization(Arguments& arguments, const std::string& argument) {
  const std::string name = arguments.text(argument);
  const std::vector<std::string>& names = parametrization_names();
  if (std::ranges::find(names, name) == names.end())
    throw unknown_name("parametrization", name, names,
                       arguments.place().at(arguments.column(argument)));
  return parametrization_from(name);
}

bool has(const std::vector<GrowthAxis>& axes, GrowthAxis axis) {
  return std::ranges::find(axes, axis) != axes.end();
}

/// As the command takes it.
std::optional<Rational> depth_alpha_of(Arguments& arguments, const std::vector<GrowthAxis>& axes) {
  if (!arguments.has("depth_alpha")) return {};
  const Rational alpha = arguments.rational("depth_alpha");
  if (alpha < Rational(0) || Rational(2) < alpha)
    arguments.fail("depth_alpha must be a number from 0 to 2, got " + alpha.to_string(),
                   "for example depth_alpha=1/2");
  if (!has(axes, GrowthAxis::depth))
    arguments.fail("depth_alpha is of the depth, which is none of the axes", "leave it out");
  return alpha;
}

int matrices_of(Arguments& arguments, const std::vector<GrowthAxis>& axes) {
  constexpr int two = 2;
  constexpr std::int64_t most = 100;
  if (!arguments.has("matrices")) return two;
  const std::int64_t matrices = arguments.integer("matrices");
  if (matrices < 1 || matrices > most)
    arguments.fail("matrices must be an integer from 1 to 100, got " + std::to_string(matrices),
                   "for example matrices=2");
  if (!has(axes, GrowthAxis::depth))
    arguments.fail("matrices are of the depth, which is none of the axes", "leave it out");
  return static_cast<int>(matrices);
}

/// Of a preset or a model file of the call, or of the kinds alone.
TransferProblem problem_of(Arguments& arguments, const std::string& parametrization) {
  TransferProblem problem;
  problem.axes = growth_axes_from(arguments.text_or("axes", "width,depth"), "axes");
  problem.optimizer = transfer_optimizer(arguments.text_or("optimizer", "adamw"),
                                         arguments.text_or("muon_scale", "none"), "optimizer");
  problem.parametrization = named_parametrization(arguments, parametrization);
  problem.alignment = alignment_from(arguments.text_or("alignment", "full"), "alignment");
  problem.depth_alpha = depth_alpha_of(arguments, problem.axes);
  if (arguments.has("muon_scale") && problem.optimizer.rule.name != "muon" &&
      !(problem.optimizer.rest && problem.optimizer.rest->name == "muon"))
    arguments.fail("muon_scale is of muon, and the optimizer is another", "leave it out");
  if (arguments.has("preset") && arguments.has("model"))
    arguments.fail("preset and model are two models", "give one of them");
  const bool has_model = arguments.has("preset") || arguments.has("model");
  if (has_model && arguments.has("matrices"))
    arguments.fail("the model says how many matrices a branch has", "leave matrices out");
  for (const GrowthAxis axis : {GrowthAxis::heads, GrowthAxis::experts})
    if (!has_model && has(problem.axes, axis))
      arguments.fail(to_string(axis) + " are of a model", "give preset or model");
  if (arguments.has("preset")) {
    problem.model = transfer_model(find_model(arguments.text("preset")), problem.axes);
  } else if (arguments.has("model")) {
    problem.model =
        transfer_model(arguments.engine().networks().model(arguments.text("model")), problem.axes);
  } else {
    problem.model = generic_transfer_model(matrices_of(arguments, problem.axes));
  }
  return problem;
}

const TensorTransfer& found(Arguments& arguments, const TransferSolution& solution) {
  const std::string kind = arguments.text_or("kind", "hidden");
  std::vector<std::string> known;
  for (const TensorTransfer& tensor : solution.tensors) {
    if (tensor.tensor.name == kind || to_string(tensor.tensor.kind) == kind) return tensor;
    known.push_back(to_string(tensor.tensor.kind));
  }
  std::ranges::sort(known);
  known.erase(std::unique(known.begin(), known.end()), known.end());
  throw unknown_name("kind", kind, known, arguments.place().at(arguments.column("kind")));
}

Expr formula(Arguments& arguments, const Exponents& exponents) {
  return arguments.in_scope(parse(exponents.formula()));
}
Expr formula(Arguments& arguments, const std::optional<Exponents>& exponents,
             const std::string& member) {
  if (!exponents) throw NotApplicable{"the rule has no " + member};
  return formula(arguments, *exponents);
}

Expr transfer(Arguments& arguments, const std::string& member) {
  const TransferSolution solution = solve_transfer(problem_of(arguments, "parametrization"));
  if (member == "branch") return formula(arguments, solution.branch);
  if (member == "attention") return formula(arguments, solution.attention, "attention");
  const TensorTransfer& tensor = found(arguments, solution);
  if (member == "lr") return formula(arguments, tensor.lr);
  if (member == "multiplier") return formula(arguments, tensor.multiplier);
  if (member == "std") return formula(arguments, tensor.std);
  if (member == "gradient") return formula(arguments, tensor.gradient);
  if (member == "decay") return formula(arguments, tensor.decay, member);
  if (member == "eps") return formula(arguments, tensor.eps, member);
  return formula(arguments, tensor.one_minus_beta, member);
}

/// 1, or 0 where no factor for each kind maps one to the other.
Expr same(Arguments& arguments, const std::string&) {
  const TransferProblem problem = problem_of(arguments, "first");
  return same_parametrization(problem, named_parametrization(arguments, "second")).same ? Expr(1)
                                                                                        : Expr(0);
}

const std::vector<std::string> settings = {"optimizer", "alignment", "axes",        "matrices",
                                           "preset",    "model",     "depth_alpha", "muon_scale"};

std::vector<std::string> with(std::vector<std::string> first) {
  first.insert(first.end(), settings.begin(), settings.end());
  return first;
}

}  // namespace

std::vector<LibraryFunction> transfer_functions() {
  std::vector<std::string> of_transfer = with({"parametrization"});
  of_transfer.push_back("kind");
  return {{"transfer",
           of_transfer,
           {"lr", "multiplier", "std", "decay", "eps", "one_minus_beta", "gradient", "branch",
            "attention"},
           false,
           false,
           false,
           transfer},
          {"same", with({"first", "second"}), {"value"}, false, false, false, same}};
}

}  // namespace scalecalc::claims

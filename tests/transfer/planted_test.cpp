#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "scalecalc/transfer.hpp"

using namespace scalecalc;

// Mistakes that people make in parametrisations of their own, each to be named with the number that
// it should be, and right ones of which nothing may be said.

namespace {

constexpr GrowthAxis width = GrowthAxis::width, depth = GrowthAxis::depth,
                     batch = GrowthAxis::batch, tokens = GrowthAxis::tokens,
                     experts = GrowthAxis::experts;

ModelSpec block_model() {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  spec.placement = Placement::pre;
  spec.layers = 2;
  spec.bias = spec.norm_affine = true;
  spec.input.kind = InputKind::tokens;
  return spec;
}

TransferProblem problem_of(const ModelSpec& spec, const std::string& optimizer, GrowthAxis axis,
                           const Parametrization& parametrization,
                           const std::string& muon_scale = "none") {
  TransferProblem problem;
  problem.optimizer = transfer_optimizer(optimizer, muon_scale);
  problem.parametrization = parametrization;
  problem.axes = {axis};
  problem.model = transfer_model(spec, problem.axes);
  return problem;
}

std::optional<Rational> number_of(const TransferSolution& solution, const std::string& tensor,
                                  const std::string& quantity, GrowthAxis axis) {
  if (tensor == "attention") return (*solution.attention)[axis];
  for (const TensorTransfer& each : solution.tensors) {
    if (each.tensor.name != tensor) continue;
    if (quantity == "std") return each.std[axis];
    if (quantity == "lr") return each.lr[axis];
    if (quantity == "decay" && each.decay) return (*each.decay)[axis];
    if (quantity == "eps" && each.eps) return (*each.eps)[axis];
  }
  return {};
}

struct Mistake {
  const char* what;
  const char* optimizer;
  GrowthAxis axis;
  const char* base;  ///< the right parametrisation
  const char* file;  ///< what the file says besides
  const char* tensor;
  const char* quantity;
  void (*change)(ModelSpec&) = [](ModelSpec&) {};
  const char* wants = "";  ///< where it is another number than the base's own
};

const std::vector<Mistake> mistakes = {
    {"1/sqrt(d_h) kept", "adamw", width, "mup", "[attention]\nscale = \"r_n^(-1/2)\"", "attention",
     "scale"},
    {"eps of hidden matrices kept", "adamw", width, "mup", "[hidden]\neps = 1",
     "block[*].ffn.in.weight", "eps"},
    {"the readout's factor twice", "adamw", width, "mup",
     "[output]\nmultiplier = \"r_n^-1\"\nlr = \"r_n^(-1/2)\"", "head.weight", "lr",
     [](ModelSpec&) {}, "0"},
    {"biases step as hidden matrices do", "adamw", width, "mup", "[bias]\nlr = \"r_n^-1\"",
     "block[*].ffn.in.bias", "lr"},
    {"gains of norms step as hidden matrices do", "adamw", width, "mup",
     "[norm_gain]\nlr = \"r_n^-1\"", "block[*].attn.norm.gain", "lr"},
    {"a tied table steps as a readout of its own", "adamw", width, "mup",
     "[embedding]\nlr = \"r_n^-1\"", "embedding.weight", "lr",
     [](ModelSpec& spec) { spec.tie_head = true; }},
    {"muon steps as with 0.2 sqrt(max), without the factor", "muon+adamw", width, "mup",
     "[hidden]\nlr = \"r_n^(-1/2)\"", "block[*].ffn.in.weight", "lr"},
    {"hidden matrices at one rate", "adamw", width, "mup", "[hidden]\nlr = 1",
     "block[*].attn.q.weight", "lr"},
    {"tables step as hidden matrices do", "adamw", width, "mup", "[embedding]\nlr = \"r_n^-1\"",
     "embedding.weight", "lr"},
    {"the readout at one rate", "adamw", width, "standard", "[output]\nlr = 1", "head.weight",
     "lr"},
    {"one std at every width", "adamw", width, "mup", "[hidden]\nstd = 1", "block[*].attn.o.weight",
     "std"},
    {"the multiplier of the table, and its old std", "adamw", width, "mup", "[embedding]\nstd = 1",
     "embedding.weight", "std"},
    {"decay that is not divided by the rate", "adamw", width, "mup", "[hidden]\ndecay = 1",
     "block[*].ffn.out.weight", "decay"},
    {"adam's rate for sgd", "sgd", width, "mup", "[hidden]\nlr = \"r_n^-1\"",
     "block[*].ffn.in.weight", "lr"},
    {"sgd with one rate for tables", "sgd", width, "standard", "[embedding]\nlr = 1",
     "embedding.weight", "lr"},
    {"lion's rate by the root", "lion", width, "mup", "[hidden]\nlr = \"r_n^(-1/2)\"",
     "block[*].attn.v.weight", "lr"},
    {"branches without a multiplier, and no norm", "adamw", depth, "complete-p",
     "[branch]\nmultiplier = 1", "branch", "multiplier",
     [](ModelSpec& spec) {
       spec.placement = Placement::none;
       spec.norm_affine = false;
     },
     "-1/2"},
    {"the rate of depth-mup with complete-p's branch", "adamw", depth, "complete-p",
     "[hidden]\nlr = \"r_L^(-1/2)\"", "block[*].ffn.in.weight", "lr"},
    {"eps kept over depth", "adamw", depth, "complete-p", "[hidden]\neps = 1",
     "block[*].attn.q.weight", "eps"},
    {"the rate kept when the batch grows", "adamw", batch, "mup", "[hidden]\nlr = 1",
     "block[*].ffn.in.weight", "lr"},
    {"the rate kept when training lasts longer", "adamw", tokens, "mup", "[hidden]\nlr = 1",
     "block[*].ffn.in.weight", "lr"},
    {"the router steps as hidden matrices do not", "adamw", width, "mup", "[router]\nlr = 1",
     "block[*].ffn.router.weight", "lr", [](ModelSpec& spec) {
       spec.experts = 4;
       spec.top_k = 2;
       spec.ffn_bias = false;
     }}};

}  // namespace

TEST_CASE("planted mistakes of parametrisations are named with what they should be") {
  int named = 0;
  for (const Mistake& mistake : mistakes) {
    CAPTURE(mistake.what);
    ModelSpec spec = block_model();
    mistake.change(spec);
    const Parametrization file = parse_parametrization(
        std::string("base = \"") + mistake.base + "\"\n" + mistake.file + "\n", "file");
    const TransferProblem wrong = problem_of(spec, mistake.optimizer, mistake.axis, file);
    TransferProblem right = wrong;
    right.parametrization = parametrization_from(mistake.base);
    const std::vector<TransferFinding> found = transfer_findings(wrong);
    const auto at = std::ranges::find_if(found, [&](const TransferFinding& finding) {
      return finding.tensor == mistake.tensor && finding.quantity == mistake.quantity;
    });
    for (const TransferFinding& finding : found) {
      CAPTURE(finding.tensor);
      CAPTURE(finding.quantity);
      CHECK((finding.quantity == mistake.quantity || at == found.end()));
    }
    REQUIRE(at != found.end());
    const std::optional<Rational> own =
        number_of(solve_transfer(right), mistake.tensor, mistake.quantity, mistake.axis);
    const std::string wants = *mistake.wants ? mistake.wants : own.value().to_string();
    CHECK(at->wants.to_string() == wants);
    ++named;
  }
  CHECK(named == static_cast<int>(mistakes.size()));
  CHECK(named >= 20);
}

TEST_CASE("nothing is said of right parametrisations, however their multipliers are chosen") {
  std::mt19937_64 draw(11);
  const std::vector<std::string> optimizers = {"adamw", "sgd", "muon+adamw", "lion", "lamb"};
  const std::vector<GrowthAxis> axes = {width, depth, batch, tokens, experts};
  const auto coin = [&] { return draw() % 2 == 0; };
  int judged = 0;
  for (int trial = 0; trial < 240; ++trial) {
    CAPTURE(trial);
    ModelSpec spec = block_model();
    spec.bias = coin();
    spec.norm_affine = coin();
    spec.norm = coin() ? NormKind::layernorm : NormKind::rmsnorm;
    spec.gated = coin();
    spec.tie_head = coin();
    if (coin()) spec.kv_heads = spec.heads / 2;
    if (coin()) spec.placement = coin() ? Placement::post : Placement::sandwich;
    const GrowthAxis axis = axes[draw() % axes.size()];
    if (axis == experts) {
      spec.experts = 4;
      spec.top_k = 2;
      spec.bias = false;
    }
    const std::vector<std::string>& names = parametrization_names();
    const std::string optimizer = optimizers[draw() % optimizers.size()];
    // Norms on the sums lose the input unless branches have a multiplier.
    const bool post_in_depth = axis == depth && spec.placement == Placement::post;
    const std::string base = post_in_depth ? "complete-p" : names[draw() % names.size()];
    CAPTURE(optimizer);
    CAPTURE(base);
    CAPTURE(to_string(axis));
    TransferProblem problem = problem_of(spec, optimizer, axis, parametrization_from(base));
    const TransferSolution right = solve_transfer(problem);
    Parametrization given{"file", base, {}, right.branch};
    const Rational of_tied(static_cast<std::int64_t>(draw() % 9) - 4, 4);
    for (const TensorTransfer& tensor : right.tensors) {
      GivenNumbers numbers{tensor.multiplier, tensor.std, tensor.lr, tensor.decay, tensor.eps};
      // Multiplier * t and std / t, with what follows from them.
      // One tensor of two uses has one t.
      const Rational drawn(static_cast<std::int64_t>(draw() % 9) - 4, 4);
      const Rational t = tensor.tensor.is_tied ? of_tied : drawn;
      (*numbers.multiplier)[axis] = (*numbers.multiplier)[axis] + t;
      (*numbers.std)[axis] = (*numbers.std)[axis] - t;
      (*numbers.lr)[axis] = (*numbers.lr)[axis] - t * tensor.lr_symmetry;
      if (numbers.decay) (*numbers.decay)[axis] = (*numbers.decay)[axis] + t * tensor.lr_symmetry;
      if (numbers.eps) (*numbers.eps)[axis] = (*numbers.eps)[axis] + t * tensor.eps_symmetry;
      given.tensors.emplace_back(tensor.tensor.name, numbers);
    }
    problem.parametrization = given;
    for (const TransferFinding& finding : transfer_findings(problem)) {
      CAPTURE(finding.tensor);
      CAPTURE(finding.quantity);
      CAPTURE(finding.has.to_string());
      CAPTURE(finding.wants.to_string());
      CHECK_MESSAGE(false, "a false alarm");
    }
    ++judged;
  }
  CHECK(judged == 240);
}

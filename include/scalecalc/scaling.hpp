#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scalecalc/network.hpp"
#include "scalecalc/symbolic.hpp"
#include "scalecalc/trace.hpp"

/// How constants must scale with depth: optimizer families, the exponent equations of alpha and
/// lambda, their exact solution, and the derivation behind it. Source:
/// docs/theory/scaling.md#equation.
namespace scalecalc {

/// Of two optimizers that share a model's parameters, the second.
struct SecondRule {
  std::string name;
  Expr update;                           ///< as Optimizer has it
  std::vector<std::string> first_roles;  ///< what the first steps: steps_first()
};

/// One named optimizer: what its first step does to one matrix.
struct Optimizer {
  std::string name;
  Expr update;       ///< dtheta without -eta, in g (gradient) and theta (parameter)
  std::string note;  ///< the factor, free of depth, by which later steps differ
  /// Of a mixture: what steps the parameters that this one does not.
  std::optional<SecondRule> rest = {};
};

/// Optimizers whose step has the same powers; named after its first member.
struct Family {
  std::string name;                   ///< "sgd", "adam", ...
  std::string title;                  ///< "sign of the gradient"
  Expr update;                        ///< of the first member
  std::vector<std::string> aliases;   ///< the other members
  std::vector<Optimizer> optimizers;  ///< all members
};

/// The first-order loss change of one step is, but for a constant, (sum over matrices of
/// gradient^p parameter^s)^o.
struct StepLaw {
  Rational gradient_power;   ///< p
  Rational parameter_power;  ///< s
  Rational outer_power = 1;  ///< o: 1/2 for a step divided by the norm of all gradients
};
bool operator==(const StepLaw&, const StepLaw&);

const std::vector<Family>& families();
/// By the name of any member. Throws Error(input) with the nearest names.
const Family& family(std::string_view name, const std::string& where = "--optimizer");
/// A member by its name in any case; a mixture of two as read_mixture() has it; or a rule in g and
/// theta as it is written: "sign(g)*norm(theta)". Throws Error(input) for a name that is not known,
/// and what read_mixture() and parse() throw.
Optimizer optimizer(std::string_view name_or_rule, const std::string& where = "--optimizer");
/// What an optimizer does, in words: its family's title, or the powers of a written rule and the
/// family that shares them.
std::string optimizer_title(const Optimizer& optimizer);
/// The name of the family with the same powers; "rule" where there is none.
std::string family_name(const Optimizer& optimizer);
/// Every member of every family.
std::vector<std::string> family_names();
/// Derived from an update rule by its homogeneity. Throws Error(input) when it has none.
StepLaw step_law(const Expr& update, const std::string& where = "optimizer");
/// The order of magnitude of one entry of the step: sign and orthogonal factors are 1, a norm is
/// the size of what it measures, the global norm is that of `matrices` equal ones.
Expr step_size(const Expr& update, const Expr& gradient, const Expr& parameter,
               const Expr& matrices);

/// What one block does to sizes where alpha = lambda = 1, its tokens all alike. The defaults are
/// those of a branch that is homogeneous of degree 1 and keeps the size of its input.
struct BlockMoments {
  Rational growth = 1;          ///< beta: second moment that a branch adds, over the first stream's
  Rational kappa = 1;           ///< -d ln G/d ln m: squared gradients against the stream they pass
  Rational rate = 0;            ///< of ln G per layer towards the input, where a norm holds m
  Rational spread = 0;          ///< of ln G, variance over draws per layer, where a norm holds m
  bool bounded_scores = false;  ///< q and k are normalised, or there is one token
};
/// By the moments of 32 layers of this block, rounded: growth to two digits, kappa to two decimals,
/// rate and spread to four; of two stacks, the encoder's. A typical draw of the weights is meant:
/// the average of G over draws is carried by rare ones. Throws what build_network and propagate
/// throw, and Error(usage) for a placement without an equation.
BlockMoments block_moments(const ModelSpec& spec);

/// How the two unknowns are closed.
struct Constraint {
  enum class Kind { symmetric, alpha, lambda };
  Kind kind = Kind::symmetric;
  Expr value = 1;  ///< of alpha or lambda, a formula in the depth symbol
  /// "symmetric", "alpha=1", "lambda=(2*N)^(-1/2)". Throws Error(input) with what would be right.
  static Constraint parse(std::string_view text, const std::string& depth_symbol = "N");
  std::string to_string() const;
};
/// symmetric; alpha=1 for steps relative to the parameter and where the placement fixes it;
/// lambda=1 where a norm ends the branch, whose size then does not depend on lambda.
Constraint default_constraint(const StepLaw& law, Placement placement);

/// A formula with its value at the asked depth.
struct Scaled {
  Expr formula;
  double value = 0;
};

/// One step of a derivation, as text and LaTeX.
struct DerivationStep {
  std::string statement, formula, formula_latex, reason, condition;
};
/// A condition under which the result holds, evaluated at this depth.
struct Condition {
  std::string name;
  std::string statement;
  Scaled quantity;
  double bound = 1;
  bool at_most = true;  ///< quantity <= bound, else >=
  bool holds = true;
};
/// Another pair that solves the same equation, and what it does.
struct Alternative {
  std::string constraint;
  Scaled alpha, lambda, relative_step, branch_sum;
};

/// The other way out: at alpha = lambda = 1 the first step's learning rate divided by its loss
/// change, which makes the first step independent of depth.
struct WarmUp {
  std::optional<Scaled> factor;  ///< of eta; nothing where no factor helps
  Expr loss_change = 1;          ///< at alpha = lambda = 1, in the depth symbol
  double exponent = 0;           ///< d ln loss_change/d ln N at the asked depth
  /// Variance of its logarithm over draws of the weights, whose median it is; nothing where that is
  /// not followed.
  std::optional<double> spread;
  std::string why_none;  ///< the reason, where it grows faster than any power
};

struct ScalingProblem {
  std::int64_t layers = 1;         ///< N, 1..1000000
  std::string optimizer = "adam";  ///< a name or a rule
  Placement placement = Placement::post;
  std::optional<Constraint> constraint;  ///< the default when empty
  std::int64_t sublayers = 2;            ///< per layer: attention and ffn; 3 with cross-attention
  std::string depth_symbol = "N";        ///< "M" for a decoder's depth
  BlockMoments block;                    ///< for the warm-up, and for what lambda cannot hold
};

/// Parameters of a mixture that the pair is not solved for.
struct RestStep {
  std::string parameters;  ///< "embedding, head", "norm gains", "ffn_in, ffn_out"
  std::string optimizer;   ///< which of the two steps them
  bool is_second = true;
  Scaled gradient;       ///< size of its gradient
  Scaled relative_step;  ///< |dtheta|/(eta |theta|)
  /// Of matrices inside branches: the loss change that they add, where that of the others is 1.
  std::optional<Scaled> loss_change = {};
};

struct ScalingSolution {
  std::string family;  ///< by its powers; "rule" for a written one that no family shares
  StepLaw law;
  Constraint constraint;
  std::string depth_symbol = "N";
  Scaled alpha, lambda;  ///< when !closed_form only lambda.value is meaningful
  bool closed_form = true;
  std::string alpha_formula, lambda_formula;  ///< printed; an equation without a closed form
  Expr equation;                              ///< in N, alpha, lambda: must be 1
  double equation_value = 1;                  ///< the solution put back
  Scaled branch_weight;                       ///< size of one branch against the stream
  Scaled branch_sum;           ///< second moments of all branches against the stream's
  Scaled gradient_scale;       ///< size of one matrix' gradient
  Scaled relative_step_scale;  ///< |dtheta| / (eta |theta|) of one matrix
  std::vector<RestStep> rest;  ///< of a mixture
  WarmUp warmup;
  std::vector<DerivationStep> derivation;
  std::vector<Condition> conditions;
  std::vector<Alternative> alternatives;
};

/// Sets up the exponent equation and solves it over the rationals. Throws Error(usage) when the
/// combination is contradictory or leaves something open, saying which equation fails.
ScalingSolution solve_scaling(const ScalingProblem& problem);
/// The power of depth of the loss change, fitted over these depths as a measurement is.
struct PredictedExponents {
  double pair = 0;              ///< with the pair; not 0 where lambda cannot hold the first branch
  std::optional<double> plain;  ///< at alpha = lambda = 1; nothing where that is no power
};
/// For the problem at each of two depths or more. Throws what solve_scaling does.
PredictedExponents predicted_exponents(const ScalingProblem& problem,
                                       const std::vector<std::int64_t>& layers);
/// Fills alpha and lambda of a spec that leaves them open, for its optimizer and placement; one
/// that is given closes the equation. Of two stacks each is solved at its own depth, and the answer
/// is the first that was open. Throws Error(usage) where lambda has no formula in N.
ScalingSolution solve_scales(ModelSpec& spec, const std::optional<Constraint>& constraint = {});
/// Whether there is anything to solve.
bool has_open_scales(const ModelSpec& spec);

// ---- what the pair means for the parameters -----------------------------------------------------

/// How one kind of parameter starts.
struct InitEntry {
  std::string kind;         ///< q k v o ffn_in ffn_out embedding head
  Expr gain;                ///< in N
  Expr std;                 ///< in N, width, ffn
  std::string std_formula;  ///< the same as text, gain and scheme apart
  std::string std_latex;
  double gain_value = 1;            ///< at the asked depth
  std::optional<double> std_value;  ///< where the widths are known
};
/// Sizes that are known; 0 leaves the size a symbol in the formulas.
struct ModelWidths {
  std::int64_t width = 0, ffn = 0, vocab = 0;
};
/// Schemes: lecun (variance 1/fan_in), xavier (2/(fan_in + fan_out)), he (2/fan_in). Throws
/// Error(input) for another.
std::vector<InitEntry> init_table(const ScalingSolution& solution, std::int64_t layers,
                                  const std::string& scheme, const ModelWidths& widths);

// ---- the same from the moments of a network ----------------------------------------------------

/// What one step does to first order, by the second moments of a Trace. Averages over seeds of
/// |g|_1 and the nuclear norm follow from E g^2 by the factors of shape_factors().
struct PredictedStep {
  double delta_loss = 0;  ///< -<g, dtheta>/eta, summed over matrices
  /// The same of a typical draw of the weights: each squared gradient divided by e^(spread/2).
  double typical_delta_loss = 0;
  double grad_norm = 0;     ///< sqrt of the summed squared gradients
  double update_ratio = 0;  ///< |dtheta|/(eta |theta|), root mean square over matrices
  /// The same over the matrices that do not start at 0; and of |dtheta| over the largest singular
  /// value of theta, sqrt(rows) + sqrt(columns) times its std.
  double relative_update = 0, relative_norm = 0;
  /// By the names above; nothing for what has no prediction.
  std::optional<double> find(std::string_view quantity) const;
};
/// Over the weight matrices inside residual branches, or over all parameters. Throws Error(input)
/// for an update that is not one of g, sign(g), orthogonal(g) times powers of norms, and for a
/// trace without gradients. `rest`: what steps the parameters that the update does not.
PredictedStep predicted_step(const Network& network, const Trace& trace, const Expr& update,
                             bool all_parameters = false,
                             const std::optional<SecondRule>& rest = {});

/// A constant that stands between a second moment and another norm.
struct ShapeFactor {
  std::string name;  ///< "|g|_1"
  double value = 1;
  std::string text;  ///< where it comes from, and what of it depends on depth
};
/// Those that enter the loss change of this update; empty when second moments are enough.
std::vector<ShapeFactor> shape_factors(const Network& network, const Expr& update);

/// What depth and placement do to signal and gradient, sublayer by sublayer.
struct SublayerShare {
  std::string path;  ///< "block[3].attn"
  std::string end;   ///< the site that the branch ends in: "block[3].attn.o"
  double scale = 1;  ///< that multiplies it in the sum
  double skip = 0;   ///< second moment of what the skip brings to the sum
  bool norm_at_end = false, norm_behind = false;  ///< of the branch; of the sum
  double share = 0;        ///< of the stream's second moment that this branch brought
  double identity = 1;     ///< amplitude that the input still has after it
  double stream = 0;       ///< second moment after it
  double grad_stream = 0;  ///< E (dL/dx)^2 there
  double gradient = 0;     ///< norm of the gradient of its weight matrices
};
/// A block that sums of a stack stand in.
struct BlockShare {
  std::string path;  ///< "block[3]"
  /// Amplitude that the input still has after its last sum; NaN where two streams share it.
  double identity = 1;
  /// Of the squared gradients of the parameters of all these blocks; NaN where they are not known.
  double gradient = std::numeric_limits<double>::quiet_NaN();
};
/// Sources: docs/theory/scaling.md#depth-profile.
struct DepthProfile {
  std::string scheme;  ///< "post", "deepnorm", "pre", ...
  std::string stack;   ///< "encoder"; empty: of the stream that the head reads
  double alpha = 1, lambda = 1;
  /// Product of (1 - share)^(1/2): the mean, over draws of the weights, of the cosine between what
  /// leaves the stack and what came in, where layers between the sums turn nothing.
  double identity_weight = 1;
  /// Sum of the shares: branches that a path through the network passes on average, each path
  /// weighted with the signal's power that it carries.
  double effective_depth = 0;
  double delta_loss = 0;
  std::vector<SublayerShare> sublayers;  ///< none of two streams that share their branches
  std::size_t sums = 0;
  std::vector<BlockShare> blocks;
  /// Of the squared gradients of all parameters of the network, what those of the blocks have.
  double block_gradient = std::numeric_limits<double>::quiet_NaN();
  bool norm_behind_sums = false;  ///< behind each
  /// No sum has a norm behind it, and all that reads the stream begins with one: of the stream's
  /// size nothing depends.
  bool norm_before_readers = false;
};
/// Of the stream that the head reads.
DepthProfile depth_profile(const Network& network, const Trace& trace);
/// Of each stack that has sums: an encoder's, then that of the stream that the head reads. Sums
/// inside branches are no sums of the stream.
std::vector<DepthProfile> depth_profiles(const Network& network, const Trace& trace);

/// The outermost part that a path stands in: "block[3]" of "block[3].attn.q.weight",
/// "encoder.block[3]" of an encoder's.
std::string outermost_part(const std::string& path);

/// What depth does to the signal, in words, with the site where it begins.
struct DepthVerdict {
  /// "explodes", "vanishes", "collapses in rank", "gradient explodes", "forgets its input", ...,
  /// "ok"
  std::string what;
  std::string site;  ///< the first that is past the bound; empty for ok
  std::string text;  ///< "E x^2 doubles every 3.1 layers; past 1e3 of its start at layer[31].act"
  std::string change = {};  ///< what to do about it, in numbers; empty where nothing follows
};
/// Each stack by itself. `profiles` are those of the trace; without residual sums there are none.
std::vector<DepthVerdict> depth_verdicts(const ModelSpec& spec, const Trace& trace,
                                         const std::vector<DepthProfile>& profiles);

/// The spec as it is, and the same block under post and pre with alpha = lambda = 1, res-post and
/// sub-ln, each at the spec's depth. delta_loss is that of the update.
std::vector<DepthProfile> scheme_profiles(const ModelSpec& spec, const Optimizer& optimizer);

/// One depth with the loss change predicted there.
struct ExactPoint {
  std::int64_t layers = 0;
  double alpha = 1, lambda = 1, delta_loss = 0;
};
struct ExactSolution {
  ScalingSolution law;   ///< the power law at the asked depth
  ExactPoint reference;  ///< the power law's pair at the reference depth
  ExactPoint by_law;     ///< the power law's pair at the asked depth
  ExactPoint solved;     ///< the pair whose loss change is the reference's
  double residual = 0;   ///< delta_loss there/reference - 1
  int propagations = 0;
  /// In alpha and lambda, at the solved pair.
  Scaled branch_weight, gradient_scale, relative_step_scale;
  std::vector<ShapeFactor> shapes;
  std::vector<Premise> assumptions;  ///< of the moment rules at the solved pair
};
/// The alpha and lambda, under the problem's constraint, for which the loss change predicted for
/// this very block (widths, activation, tokens, heads) at problem.layers equals that at the
/// reference depth; spec.layers, alpha and lambda are replaced. Of several pairs the one nearest
/// to the power law. Throws Error(unsolvable) with the range that was reached when there is none,
/// and what solve_scaling and propagate throw.
ExactSolution solve_exact(const ModelSpec& spec, const ScalingProblem& problem,
                          std::int64_t reference_layers = 1);

// ---- what was published -------------------------------------------------------------------------

enum class Architecture { encoder, decoder, encoder_decoder };
Architecture architecture_from(std::string_view name);
const std::vector<std::string>& architecture_names();

/// One stack's published constants beside those derived here.
struct PublishedPair {
  std::string stack;                         ///< encoder or decoder
  std::string depth_symbol;                  ///< N or M
  Scaled alpha, lambda;                      ///< as published (Wang et al. 2022, DeepNet, table)
  Scaled rederived_alpha, rederived_lambda;  ///< the paper's argument solved exactly
  Scaled ratio;                              ///< lambda/alpha as published
  std::vector<std::string> why;              ///< why they differ from the derived pair
};
/// decoder_layers only for encoder_decoder. Sources: docs/theory/scaling.md#published.
std::vector<PublishedPair> deepnet_rule(Architecture architecture, std::int64_t layers,
                                        std::int64_t decoder_layers);

}  // namespace scalecalc

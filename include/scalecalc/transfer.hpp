#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scalecalc/network.hpp"
#include "scalecalc/symbolic.hpp"

/// How multiplier, standard deviation, learning rate, decay and eps of every parameter change with
/// the size of a model and of its training (docs/theory/transfer.md). A parameter acts as
/// multiplier * theta; theta starts with std, is stepped by lr * U, U the output of the update
/// rule, and decays by lr * decay * theta.
namespace scalecalc {

/// What grows, each by its ratio to a base model: r_n (width), r_L (depth), r_B (batch), r_D
/// (tokens of training), r_H (heads), r_E (experts).
enum class GrowthAxis { width, depth, batch, tokens, heads, experts };
inline constexpr std::size_t growth_axes = 6;
/// "width", "depth", ... in the order of the enumeration.
const std::vector<std::string>& growth_axis_names();
const std::string& to_string(GrowthAxis axis);
/// "r_n", "r_L", ...
const std::string& ratio_symbol(GrowthAxis axis);
/// Throws Error(input) with the nearest name.
GrowthAxis growth_axis_from(std::string_view name, const std::string& where = "--axes");
/// Names with commas between them: each axis once, in the order of the enumeration. Throws
/// likewise.
std::vector<GrowthAxis> growth_axes_from(std::string_view names,
                                         const std::string& where = "--axes");

/// A quantity is proportional to the product of the ratios to these powers.
class Exponents {
 public:
  Rational& operator[](GrowthAxis axis) { return powers_[static_cast<std::size_t>(axis)]; }
  const Rational& operator[](GrowthAxis axis) const {
    return powers_[static_cast<std::size_t>(axis)];
  }
  bool operator==(const Exponents& other) const { return powers_ == other.powers_; }
  /// Of the product of two quantities, and of their quotient.
  friend Exponents operator*(Exponents first, const Exponents& second);
  friend Exponents operator/(Exponents first, const Exponents& second);
  /// "r_n^-1*r_L^(-1/2)", as parse() reads it; "1" where all are 0.
  std::string formula() const;
  /// "r_n^{-1} r_L^{-1/2}".
  std::string latex() const;
  /// The product at these ratios, in the order of the axes.
  double at(const std::array<double, growth_axes>& ratios) const;

 private:
  /// Symbols with what `written` makes of their powers, which are not 0.
  template <class Written>
  std::string product(const char* between, const Written& written) const;

  std::array<Rational, growth_axes> powers_ = {};
};

/// The exponents of fan_in by which sums over it grow (Everett et al. 2024): of a step's change on
/// the old input (alpha), of the weights on the changed input (omega), of the change on the changed
/// input (u).
struct Alignment {
  Rational alpha = 1, omega = Rational(1, 2), u = 1;
};
/// "full" (1, 1/2, 1), "none" (all 1/2), or three rationals "A,O,U" of 0..1. Throws Error(input).
Alignment alignment_from(std::string_view text, const std::string& where = "--alignment");
/// "full", "none" or "1,1/2,1".
std::string to_string(const Alignment& alignment);

/// What eps is added to in a rule that has one.
enum class EpsPlace {
  none,
  gradient,          ///< |g|: adam and its like
  squared_entry,     ///< g^2: adafactor
  frobenius,         ///< |G| of the matrix: muon, soap
  squared_frobenius  ///< the one eigenvalue of G G^T: shampoo
};

/// What steps one parameter.
struct TransferRule {
  std::string name;
  Expr update;  ///< in g, theta, fan_in, fan_out
  EpsPlace eps = EpsPlace::none;
  bool averages = false;  ///< has a beta, or several
};
/// One rule, or of a mixture two.
struct TransferOptimizer {
  std::string name;
  TransferRule rule;
  std::optional<TransferRule> rest;      ///< of what the first does not step
  std::vector<std::string> first_roles;  ///< of a mixture: mixture_roles(); empty: hidden matrices
};
/// Factors that authors put in front of orthogonal(g).
const std::vector<std::string>& muon_scale_names();
/// A name of families() in any case, a mixture, "shampoo(1/4,1/4)" (the powers of the left and the
/// right preconditioner), or a rule in g, theta, fan_in and fan_out. `muon_scale` (none, shape,
/// spectral, match_rms) multiplies muon's step by 1, sqrt(max(1, fan_out/fan_in)),
/// sqrt(fan_out/fan_in), 0.2 sqrt(max(fan_in, fan_out)). Throws Error(input).
TransferOptimizer transfer_optimizer(std::string_view text, std::string_view muon_scale = "none",
                                     const std::string& where = "--optimizer");

/// How a tensor grows in width: input-like (fan_out alone), both, output-like (fan_in alone); its
/// role where that matters.
enum class TensorKind { embedding, hidden, output, router, bias, norm_gain, scalar, output_bias };
/// "embedding", "hidden", ... in the order of the enumeration.
const std::vector<std::string>& tensor_kind_names();
const std::string& to_string(TensorKind kind);

/// Numbers of one kind that a definition gives; what is missing is solved for.
struct GivenNumbers {
  std::optional<Exponents> multiplier, std, lr, decay, eps;
};
/// A definition of multipliers and inits.
struct Parametrization {
  std::string name;
  /// The rows of a named one, solved for where it is "auto".
  std::string base;
  std::vector<std::pair<std::string, GivenNumbers>> kinds;  ///< of a file: by the kind's key
  std::optional<Exponents> branch;                          ///< of a file
  /// By the names of tensors, each in the place of its kind's.
  std::vector<std::pair<std::string, GivenNumbers>> tensors = {};
  /// Of the scale of attention's scores; what is missing is the one that is stable.
  std::optional<Exponents> attention = {};
};
/// standard ntk mup mean-field spectral depth-mup complete-p u-mup auto.
const std::vector<std::string>& parametrization_names();
/// A name, or the path of a file (docs/guide/transfer.md). Throws Error(input).
Parametrization parametrization_from(const std::string& name_or_path,
                                     const std::string& where = "--parametrization");
/// The same of a file's text; `name` stands for the file in messages.
Parametrization parse_parametrization(std::string_view toml, const std::string& name);

/// How decay follows from the learning rate.
enum class DecayLaw {
  rate,         ///< lr * decay is the same at each size, and ~ r_B/r_D
  root_width,   ///< decay ~ r_n^(1/2)
  constant,     ///< decay stays
  update_share  ///< decay |theta| a fixed share of |U|, in operator norms
};
const std::vector<std::string>& decay_law_names();
DecayLaw decay_law_from(std::string_view name, const std::string& where = "--decay-law");

/// One kind of tensor as a model has it; exponents of fans are 0 on batch and tokens.
struct TransferTensor {
  std::string name;  ///< its kind, or the pattern of its paths: "block[*].attn.q.weight"
  TensorKind kind = TensorKind::hidden;
  std::string role;
  bool is_matrix = true;
  Exponents fan_in, fan_out;
  Exponents stream;      ///< of the features of the stream that it belongs to
  bool repeats = false;  ///< their number grows with the depth
  bool in_branch = false;
  int matrices = 2;            ///< in series in its branch
  bool closes_branch = false;  ///< starts at 0, and its branch with it
  /// How many there are beside those of each block, and what of a gradient reaches one: of the
  /// experts of a mixture, of which a token chooses some.
  Exponents copies, share;
  bool behind_stream = false;  ///< behind the norm that ends the stream, or outside of it
  bool is_tied = false;        ///< an embedding and a head that are one tensor
};
/// How the stream keeps its size over depth.
enum class StreamNorm {
  each_read,  ///< a norm in front of each branch and behind the last: it may grow
  each_sum,   ///< a norm on each sum (post)
  none        ///< it must not grow
};
struct TransferModel {
  std::vector<TransferTensor> tensors;
  StreamNorm norm = StreamNorm::each_read;
  bool starts_closed = false;  ///< the branches begin at 0 behind a trainable factor
  bool has_branches = true;
  /// Of the features of one head, where there is attention.
  std::optional<Exponents> head_width;
  Exponents attention_scale;         ///< as the model has it
  std::vector<std::string> remarks;  ///< what of the model no number of the answer has
};
/// Embedding, hidden, output and bias, of pre-norm blocks with `matrices` (>= 1) in series in a
/// branch; hidden and bias stand in a branch.
TransferModel generic_transfer_model(int matrices = 2);
/// By laying the model out at two sizes an axis. Throws Error(input) where it cannot grow so:
/// `axes` are those that it must.
TransferModel transfer_model(const ModelSpec& spec, const std::vector<GrowthAxis>& axes);
/// What a model says itself of multipliers, stds, branches and the scale of scores when it grows on
/// one axis from the one size to the other, its learning rates, decays and eps kept. `model` is
/// that of transfer_model(). Powers are those between the two sizes, to the nearest twelfth.
Parametrization own_parametrization(const ModelSpec& small, const ModelSpec& large, double ratio,
                                    GrowthAxis axis, const TransferModel& model);

/// The spec with that axis' sizes times `factor` (> 0, which must leave integers). Throws
/// Error(input).
ModelSpec grown(const ModelSpec& spec, GrowthAxis axis, std::int64_t factor);

struct TransferProblem {
  TransferModel model = generic_transfer_model();
  TransferOptimizer optimizer;
  Parametrization parametrization;
  Alignment alignment;
  std::vector<GrowthAxis> axes = {GrowthAxis::width, GrowthAxis::depth};
  std::optional<Rational> depth_alpha;  ///< the branch multiplier is r_L^-depth_alpha
  DecayLaw decay = DecayLaw::rate;
};

/// Which bound a number meets with equality, or breaks.
struct TransferBinding {
  std::string tensor, quantity;  ///< "hidden", "lr"
  GrowthAxis axis = GrowthAxis::width;
  /// Of lr: own_change, second_change, relative_step, branch_sum, head_features, tied_start,
  /// other_use, noise; of std: features_at_init, logits_at_init; of features: head_features; of a
  /// branch: branch_variance.
  std::string bound;
  std::string equation;  ///< in exponents: "multiplier 0 + |U x| 1 + lr <= 0"
  bool holds = true;     ///< false: the numbers that are given, or the model, break it
};

struct TensorTransfer {
  TransferTensor tensor;
  std::string rule;  ///< the name of what steps it
  Exponents multiplier, std, lr;
  /// Nothing where the rule has no eps, or no averages.
  std::optional<Exponents> decay, eps, one_minus_beta;
  Exponents gradient;  ///< size of an entry of theta's gradient, batch noise aside
  /// By how much its step misses what is stable in standard practice: multiplier 1, std
  /// fan_in^(-1/2), lr, decay and eps kept.
  Exponents standard_excess;
  /// The power of t by which its lr follows multiplier * t: see same_parametrization().
  Rational lr_symmetry;
  /// Likewise of eps: 1, or 2 where it is added to a square.
  Rational eps_symmetry = 1;
};

/// What a tensor's numbers are multiplied by between two sizes, its multiplier taken into theta:
/// it then acts as theta itself.
struct TensorFactors {
  double std = 1, lr = 1;
  double decay = 1;  ///< 1 where there is no rule for it
  double eps = 1;    ///< 1 where the rule has none
};
/// With t = 1/multiplier in the symmetry of same_parametrization(). `ratios` in the order of the
/// axes.
TensorFactors factors_at(const TensorTransfer& tensor,
                         const std::array<double, growth_axes>& ratios);
/// What the multiplier of a branch must be over depth by two criteria.
struct BranchCriteria {
  Exponents feature_change;  ///< every order of a branch's change of the features contributes
  /// The first-order change of the loss in one step stays at a learning rate that is kept: that of
  /// deepnorm. None where a rule's step falls as the gradient grows: no multiplier changes it.
  std::optional<Exponents> loss_change;
};
struct TransferSolution {
  Exponents branch;  ///< of the multiplier of each residual branch, of the most matrices if several
  std::optional<Exponents> attention;      ///< the scale of scores that is stable
  std::optional<Exponents> scores;         ///< the scale that is given, else the stable one
  std::optional<BranchCriteria> criteria;  ///< where depth grows, and the model has branches
  std::vector<TensorTransfer> tensors;
  std::vector<TransferBinding> bindings;
  std::vector<std::string> warnings;
};
/// Throws Error(input) where the parametrisation asks for a kind that the model has not, or for a
/// mixture by roles without a model.
TransferSolution solve_transfer(const TransferProblem& problem);

/// A number that a set-up has with another power of one axis than a stable one whose steps move
/// features the most.
struct TransferFinding {
  std::string tensor;    ///< its name in the model; "attention", "branch"
  std::string quantity;  ///< std (of a tied tensor multiplier), lr, decay, eps; of attention scale;
                         ///< of branch multiplier
  GrowthAxis axis = GrowthAxis::width;
  Rational has, wants;
};
/// Of the numbers that the problem's parametrisation gives: learning rates beside the largest
/// stable ones where stds and branches are mended, stds beside those of features of size 1 (of
/// logits at most 1), lr * decay beside the law of the decay, eps above the size of what it is
/// added to, and what breaks the sums of branches and of scores. Stds and branches first, then in
/// the order of the tensors. Throws as solve_transfer() does.
std::vector<TransferFinding> transfer_findings(const TransferProblem& problem);

/// A model with the numbers of a base of other sizes.
struct TransferredNetwork {
  Network network;  ///< multipliers of parameters are taken into their stds
  std::map<std::string, TensorFactors> factors;  ///< of each parameter, by its path
};
/// What parameters start with, branch multipliers and the scale of scores are the base's times what
/// the solution says at these ratios of the spec's sizes over the base's. Throws Error(input) where
/// blocks of the base differ which are of one kind, and for gains of norms that start elsewhere
/// than at 1.
TransferredNetwork transferred_network(const ModelSpec& base, const ModelSpec& spec,
                                       const TransferSolution& solution,
                                       const std::array<double, growth_axes>& ratios);

/// Whether two parametrisations are one, up to multiplier * t, std / t, lr t^-g, eps t^e and decay
/// t^g with one t for each kind of parameter.
struct SameParametrization {
  struct Kind {
    std::string name;
    bool same = true;
    Exponents factor;        ///< t: the second's multiplier over the first's
    std::string difference;  ///< what differs, in words
  };
  bool same = true;
  bool same_branch = true;
  bool same_attention = true;  ///< of the scale of scores
  std::vector<Kind> kinds;
};
/// Two problems that differ in their parametrisation.
SameParametrization same_parametrization(const TransferProblem& first,
                                         const Parametrization& second);

}  // namespace scalecalc

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scalecalc/passes.hpp"

/// Steps of real optimizers on the parameters of Passes. Below, theta is one parameter, g its
/// gradient after clipping, t = 1, 2, ... the step, eta = learning_rate * schedule.at(t); products
/// and roots act by entry, |.| is the Frobenius norm, rms is |.|/sqrt(entries). Averages start at
/// zero. A division by a norm of 0 is no step.
namespace scalecalc {

/// A factor of the learning rate, by step.
struct Schedule {
  enum class Kind { constant, linear, cosine, inverse_sqrt };
  Kind kind = Kind::constant;
  std::int64_t warmup = 0;  ///< steps, >= 0, over which the factor grows as t/warmup
  std::int64_t steps = 0;   ///< linear, cosine: the step at which `final` is reached, > warmup
  double final = 0.0;       ///< linear, cosine: the factor from then on, 0..1

  /// After the warm-up, with p = (t - warmup)/(steps - warmup): constant 1, linear
  /// 1 - (1 - final) p, cosine final + (1 - final) (1 + cos(pi p))/2 (Loshchilov & Hutter 2017),
  /// inverse_sqrt sqrt(max(warmup, 1)/t) (Vaswani et al. 2017). Throws Error(input) for a step
  /// before 1 and for a schedule out of the ranges above.
  double at(std::int64_t step) const;
};

/// What one parameter's numbers are multiplied by, where it has its own.
struct ParameterFactors {
  /// >= 0; of eta, and with it of the decay that is decoupled from the gradient (eta weight_decay);
  /// of muon also of adamw_learning_rate; of a relative step of adafactor: of rho.
  double learning_rate = 1.0;
  double weight_decay = 1.0;  ///< >= 0
  double eps = 1.0;           ///< > 0; of adafactor: of eps_square
};

/// Named as the members of families() are:
/// - sgd: theta -= eta (g + weight_decay theta).
/// - momentum (Polyak 1964), nesterov (Sutskever et al. 2013), in PyTorch's form: with
///   h = g + weight_decay theta, b = momentum b + h; theta -= eta b, or eta (h + momentum b).
/// - adam (Kingma & Ba 2015): h as above; m = beta1 m + (1 - beta1) h,
///   v = beta2 v + (1 - beta2) h^2; theta -= eta m^ / (sqrt(v^) + eps), m^ = m/(1 - beta1^t),
///   v^ = v/(1 - beta2^t): eps stands outside the root and after the correction, as in PyTorch.
/// - adamw (Loshchilov & Hutter 2019): the same with h = g, and theta -= eta weight_decay theta.
/// - rmsprop (Tieleman & Hinton 2012), in PyTorch's form: h as above;
///   v = beta2 v + (1 - beta2) h^2; theta -= eta h/(sqrt(v) + eps). The first step is
///   1/sqrt(1 - beta2) times a sign's.
/// - adagrad (Duchi et al. 2011): the same with v += h^2.
/// - lion (Chen et al. 2023): theta -= eta (sign(beta1 m + (1 - beta1) g) + weight_decay theta),
///   then m = beta2 m + (1 - beta2) g.
/// - lamb (You et al. 2020, algorithm 2): u = m^ / (sqrt(v^) + eps) + weight_decay theta;
///   theta -= eta |theta|/|u| u, the ratio 1 where |theta| = 0.
/// - lars (You et al. 2017): b = momentum b + eta r (g + weight_decay theta); theta -= b, with
///   r = trust |theta|/(|g| + weight_decay |theta|), or trust where |theta| = 0.
/// - adafactor (Shazeer & Stern 2018, algorithms 4 to 6): beta = 1 - t^(-decay_power). Of a matrix,
///   R and C are averages with beta of the row and column sums of g^2 + eps_square, V = R C/sum(R);
///   parameters of one row or column keep V itself. u = g/sqrt(V); u /= max(1, rms(u)/clip_rms);
///   theta -= alpha u + rho weight_decay theta. With relative_step rho = schedule.at(t)
///   min(learning_rate, 1/sqrt(t)), alpha = max(eps_parameter, rms(theta)) rho; else both are eta.
/// - muon (Jordan et al. 2024): b = momentum b + g; o = newton_schulz(g + momentum b), or of b
///   without nesterov: X = b/|b|, then newton_schulz_steps times X = a X + (b A + c A^2) X,
///   A = X X^T, (a, b, c) = (3.4445, -4.7750, 2.0315); theta -= eta (s o + weight_decay theta), s
///   by muon_scale. Biases, gains, embeddings and the head follow adamw with adamw_learning_rate
///   and beta1, beta2, eps, weight_decay.
/// - ngd: theta -= eta (g/|g over all parameters| + weight_decay theta).
struct OptimizerOptions {
  std::string name = "adam";
  double learning_rate = 1e-3;  ///< >= 0
  Schedule schedule;
  double momentum = 0.9;              ///< 0..1, 1 excluded
  double beta1 = 0.9, beta2 = 0.999;  ///< 0..1, 1 excluded
  double eps = 1e-8;                  ///< > 0
  double weight_decay = 0.0;          ///< >= 0
  double trust = 1e-3;                ///< lars: > 0
  bool relative_step = true;          ///< adafactor
  double decay_power = 0.8;           ///< adafactor: > 0
  double clip_rms = 1.0;              ///< adafactor: > 0
  double eps_square = 1e-30;          ///< adafactor: > 0
  double eps_parameter = 1e-3;        ///< adafactor: > 0
  bool nesterov = true;               ///< muon
  int newton_schulz_steps = 5;        ///< muon: 1..100
  double adamw_learning_rate = 3e-4;  ///< muon: >= 0
  /// none 1; shape sqrt(max(1, fan_out/fan_in)); match_rms 0.2 sqrt(max(fan_in, fan_out)), the size
  /// of an entry of Adam's steps (Liu et al. 2025).
  enum class MuonScale { none, shape, match_rms };
  MuonScale muon_scale = MuonScale::shape;

  double clip_norm = 0.0;   ///< >= 0; where > 0, g *= min(1, clip_norm/|g over all parameters|)
  double clip_value = 0.0;  ///< >= 0; where > 0, entries of g are clamped to +-clip_value

  /// When a parameter is updated: in the backward pass, as soon as its gradient is complete, whose
  /// memory is then reused; or after it, all gradients kept. `automatic` keeps them only where the
  /// rule needs their common norm (ngd, clip_norm). Both give the same bits.
  enum class Application { automatic, streaming, whole };
  Application application = Application::automatic;

  /// Of a mixture one: what steps the parameters that the first does not, with its own rate, decay
  /// and averages. Schedule, clipping and application are those of the whole.
  std::vector<OptimizerOptions> rest = {};
  /// Of a mixture: what the first steps, of mixture_roles(); empty: hidden matrices. Muon steps the
  /// matrices among them by muon, embeddings and the head too.
  std::vector<std::string> first_roles = {};
  /// By the parameter's path; those left out have factors of 1. Of a mixture: those of the whole
  /// alone are read.
  std::map<std::string, ParameterFactors> factors = {};
};
/// What steps the rest of a mixture, with the schedule and the clipping of the whole; its
/// `first_roles` and `factors` are empty.
OptimizerOptions rest_of(const OptimizerOptions& mixture);
/// The factors of the parameter of that path.
ParameterFactors factors_of(const OptimizerOptions& options, const std::string& path);
/// "muon", or of a mixture "muon+adamw", "muon(ffn)+adamw".
std::string optimizer_text(const OptimizerOptions& options);

/// The names above.
const std::vector<std::string>& optimizer_names();
/// What the paper, or its authors' code, starts from; sgd's rate is 0.01, lars' 1. Names are in any
/// case; two joined by + are a mixture. Throws Error(input) with the nearest names.
OptimizerOptions optimizer_options(std::string_view name);
/// Throws Error(input) for a name or a value out of the ranges above, naming it, for both clippings
/// at once, and for streaming where the norm of all gradients is needed.
void validate(const OptimizerOptions& options);

/// What one step did: Frobenius norms, for each parameter.
struct StepNorms {
  std::vector<double> gradient;   ///< as the backward pass gave it, before clipping
  std::vector<double> update;     ///< theta after minus theta before
  std::vector<double> parameter;  ///< before
};

/// Part of what a trainer goes on from.
struct StateTensor {
  std::string name;  ///< "block[3].ffn.in.weight"; its averages "... first" and "... second"
  std::int64_t rows = 0, columns = 0;
};

/// Trains the parameters of one Passes on its inputs and targets. The averages live on its device.
/// The Passes must outlive it and may be moved. Not thread-safe.
template <class Real>
class Trainer {
 public:
  /// Throws what validate() throws, Error(input) where `factors` has a path that is no
  /// parameter's, and Error(fault) when the device has no memory for the averages.
  Trainer(Passes<Real>& passes, const OptimizerOptions& options);
  ~Trainer();
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;

  /// Forward, backward, update. Returns the loss before the update. After an exception (a device
  /// out of memory) some parameters may have moved and others not.
  double step();
  /// The same step, measured.
  double step(StepNorms& norms);
  std::int64_t steps() const;       ///< taken so far
  std::size_t state_bytes() const;  ///< of the averages and of what the updates work in
  bool streaming() const;

  /// Parameters and averages: with steps(), all that later steps depend on beside the data.
  const std::vector<StateTensor>& state() const;
  /// Valid until the next call.
  MatrixView<Real> state(std::size_t index) const;
  /// Overwrites one of them, rows*columns values.
  void set_state(std::size_t index, const Real* values);
  /// Goes on as after this many steps, >= 0.
  void set_steps(std::int64_t steps);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};
extern template class Trainer<float>;
extern template class Trainer<double>;

}  // namespace scalecalc

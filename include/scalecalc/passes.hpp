#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "scalecalc/network.hpp"
#include "scalecalc/tensor.hpp"
#include "scalecalc/trace.hpp"

/// Real forward and backward passes of a Network, in float or double. Weights, inputs, targets and
/// dropout masks come from Philox: same seed, same bits, whatever the number of threads.
namespace scalecalc {

template <class Real>
class Trainer;
template <class Real>
class Passes;
namespace passes {
template <class Real>
class Model;
template <class Real>
Model<Real>& model_of(Passes<Real>& of);
}  // namespace passes

/// What passes are about to take.
struct PassWork {
  double operations = 0;  ///< additions and multiplications of the matrix products of all passes
  double bytes = 0;       ///< that the largest pass holds
  bool single_precision = false;
};

struct PassOptions {
  std::uint64_t seed = 0;
  int threads = 1;
  /// auto, cpu, cpu+eigen (no oneDNN), cuda, cuda:1 (one of several), cuda+tf32 (float products in
  /// TF32), cuda+nograph (every kernel sent by itself and at once, to find which one fails).
  std::string device = "cpu";
  /// Keep only the inputs of about sqrt(n) groups of the network's n outermost layers, and run each
  /// group forward once more on the way back: the same bits, one forward pass more, and activations
  /// that grow as sqrt(n).
  bool recompute = false;
  /// Called once, before the first of the passes of sample_passes().
  std::function<void(const PassWork&)> expect = {};
};

/// Tokens and targets of the caller's own, sequence after sequence.
struct TokenBatch {
  std::vector<std::int32_t> ids;      ///< batch * sequence, 0 .. vocab - 1 of the embedding
  std::vector<std::int32_t> targets;  ///< one for each row of the logits, 0 .. classes - 1
  /// Of an encoder: batch * memory_sequence, 0 .. vocab - 1 of its embedding.
  std::vector<std::int32_t> sources = {};
};

/// One draw of weights, inputs, targets and masks, and the passes over it. Not thread-safe;
/// different Passes may run on different threads.
template <class Real>
class Passes {
 public:
  /// Throws Error(input) for a network it cannot run, Error(fault) for a device that is not there.
  Passes(const Network& network, const PassOptions& options);
  ~Passes();
  Passes(Passes&&) noexcept;
  Passes& operator=(Passes&&) noexcept;

  const std::vector<ParameterInfo>& parameters() const;
  /// Valid until the next call, whatever else is called.
  MatrixView<Real> parameter(std::size_t index) const;
  /// What makes the device slower than it should be, in words; empty when nothing does.
  std::string remark() const;

  /// Runs on these inputs and targets from now on. Throws Error(input) for a network without tokens
  /// and cross-entropy, another number of tokens or targets, and one that is out of range.
  void set_batch(const TokenBatch& batch);
  /// Draws the masks of dropout anew, each step its own; passes begin with those of step 0.
  void set_mask_step(std::uint64_t step);
  /// Keeps parameters and data, and runs them through a network that differs in scales alone (a
  /// ramp, a rate of dropout). Throws Error(input) where parameters or data have other shapes.
  void set_network(const Network& network);
  /// rows*columns values, row-major.
  void set_parameter(std::size_t index, const Real* values);

  /// Forward only.
  double loss();
  /// Forward only, without dropout.
  double evaluate();
  /// Forward and backward. Each parameter's gradient is handed over once, complete, and its memory
  /// reused afterwards. Returns the loss.
  using GradientSink = std::function<void(std::size_t index, MatrixView<Real> gradient)>;
  double backward(const GradientSink& sink);
  /// theta += scale * direction, for one parameter.
  void add(std::size_t index, const Real* direction, double scale);

 private:
  friend class Trainer<Real>;
  friend passes::Model<Real>& passes::model_of<Real>(Passes<Real>& of);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};
extern template class Passes<float>;
extern template class Passes<double>;

/// The weights that passes of a seed start from, one parameter at a time, in the order of
/// parameters(network).
class WeightDraws {
 public:
  WeightDraws(const Network& network, std::uint64_t seed, int threads = 1);
  ~WeightDraws();
  WeightDraws(WeightDraws&&) noexcept;
  WeightDraws& operator=(WeightDraws&&) noexcept;

  std::size_t size() const;
  /// rows*columns values, row-major: the bits of Passes<float>::parameter(index).
  std::vector<float> operator()(std::size_t index) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// What passes measure at one site: for each seed the average over features, tokens and sequences.
struct SiteSamples {
  std::string path, kind;
  std::int64_t width = 0, tokens = 0;
  std::vector<double> mean, second, cross, grad_second, grad_cross;
};
struct ParameterSamples {
  std::string path;
  std::int64_t rows = 0, columns = 0;
  std::vector<double> second, grad_second;
};
struct PassSamples {
  std::vector<SiteSamples> sites;
  std::vector<ParameterSamples> parameters;
  std::vector<double> loss;
};
/// Runs a forward and a backward pass for each of `seeds` seeds, seed, seed + 1, ..., in double or
/// float, and measures every site and parameter. Paths are those of propagate(). `progress` may
/// stop it (Error(fault)). Throws as Passes does.
PassSamples sample_passes(const Network& network, const PassOptions& options, int seeds,
                          bool single_precision = false,
                          const std::function<bool(double done)>& progress = {});
/// Their means and standard errors as a Trace, engine "passes". The error of one seed is infinite.
Trace trace_of(const PassSamples& samples);

/// Of so many forward and backward passes. Throws Error(input) for a network that passes cannot
/// run.
PassWork pass_work(const Network& network, double passes, bool single_precision = false,
                   bool recompute = false);

}  // namespace scalecalc

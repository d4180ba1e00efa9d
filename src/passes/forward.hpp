#pragma once

#include <cstddef>
#include <string>

#include "passes/initial.hpp"
#include "tensor/tape.hpp"

namespace scalecalc::passes {

/// Sees every site of a pass: its value on the way forward, and on the way back its whole gradient,
/// over all paths to the loss.
template <class Real>
class Observer {
 public:
  virtual ~Observer() = default;
  /// Sites come in the order of the forward pass; returns the number of this one.
  virtual std::size_t value(const std::string& path, const char* kind,
                            const tensor::Tensor<Real>& value) = 0;
  virtual void gradient(std::size_t site, const tensor::Tensor<Real>& gradient) = 0;
  /// The forward pass has come to this parameter.
  virtual void parameter(std::size_t index) = 0;
};

/// One draw of everything random in a network.
template <class Real>
struct Drawn {
  std::uint64_t seed = 0;      ///< of dropout's masks
  std::string mask = ".mask";  ///< what their streams' names end in
  bool drops = true;           ///< whether there is dropout at all
  std::vector<tensor::Tensor<Real>> parameters;
  Data<Real> data;
};

/// How far a pass has come; one that `replays` has shown its values before.
struct Progress {
  std::size_t parameters = 0, sites = 0;
  std::size_t biases = 0;  ///< the parameter that holds the last table of scores' biases
  bool replays = false;
};

/// Appends the forward pass of the whole network to the tape and returns the loss. `observer` may
/// be null; with one, the input counts as a variable. To `recompute` as PassOptions has it. Plan,
/// draws and observer outlive what is recorded.
template <class Real>
double forward(const Plan& plan, const Drawn<Real>& drawn, tensor::Tape<Real>& tape,
               Observer<Real>* observer, bool recompute = false);

}  // namespace scalecalc::passes

#include "tensor/model.hpp"

#include <optional>
#include <variant>

#include "scalecalc/error.hpp"
#include "tensor/check.hpp"
#include "tensor/ops.hpp"

namespace scalecalc::tensor {
namespace {

/// Applies the layers to the stream, taking the parameters in the order of the forward pass.
template <class Real>
class Forward {
 public:
  using Stream = Variable<Real>;
  Forward(const Network& network, const std::vector<Tensor<Real>>& parameters, Tape<Real>& tape,
          const Data<Real>& data)
      : network_(network), parameters_(parameters), tape_(tape), data_(data) {}

  Stream run(const std::vector<Layer>& layers, Stream x) {
    for (const Layer& layer : layers) {
      x = std::visit([&](const auto& op) { return apply(op, x); }, layer.op);
    }
    return x;
  }

 private:
  Stream next() {
    const std::size_t index = used_++;
    return tape_.parameter(index, parameters_[index]);
  }

  Stream apply(const Linear& layer, const Stream& x) {
    const Stream weight = next();
    const std::optional<Stream> bias = layer.bias ? std::optional(next()) : std::nullopt;
    return linear(tape_, x, weight, bias ? &*bias : nullptr);
  }
  Stream apply(const ActivationLayer& layer, const Stream& x) {
    return activate(tape_, activation_kind(layer.function, layer.path), x);
  }
  Stream apply(const Norm& layer, Stream x) {
    if (layer.kind != NormKind::none) {
      x = normalise(tape_, layer.kind == NormKind::layernorm, layer.eps, x);
    }
    if (!layer.affine) return x;
    const Stream gain = next(), shift = next();
    return affine(tape_, x, gain, shift);
  }
  Stream apply(const Attention& layer, const Stream& x) {
    const Stream q = apply(layer.q, x), k = apply(layer.k, x), v = apply(layer.v, x);
    const AttentionShape shape{network_.batch,   network_.sequence, layer.heads,
                               layer.head_width, layer.causal,      layer.scale};
    Stream mix = attend(tape_, shape, q, k, v);
    if (layer.norm) mix = apply(*layer.norm, mix);
    return apply(layer.o, mix);
  }
  Stream apply(const Residual& layer, const Stream& x) {
    const Stream branch = run(layer.body, x);
    const Stream sum = blend(tape_, layer.skip, x, layer.branch, branch);
    return layer.norm ? apply(*layer.norm, sum) : sum;
  }
  Stream apply(const Embedding&, const Stream&) { return embed(tape_, next(), data_.ids); }

  const Network& network_;
  const std::vector<Tensor<Real>>& parameters_;
  Tape<Real>& tape_;
  const Data<Real>& data_;
  std::size_t used_ = 0;
};

}  // namespace

template <class Real>
Model<Real>::Model(const Network& network, std::uint64_t seed, std::shared_ptr<Device<Real>> device)
    : device_(std::move(device)), network_(network), infos_(scalecalc::parameters(network)) {
  check_memory(check(network_), sizeof(Real));
  parameters_ = draw_parameters(network_, seed, device_);
  data_ = draw_data(network_, seed, device_);
}

template <class Real>
const Tensor<Real>& Model<Real>::parameter(std::size_t index) const {
  if (index < parameters_.size()) return parameters_[index];
  throw Error(ErrorKind::input, "there is no parameter " + std::to_string(index), "passes",
              "there are " + std::to_string(parameters_.size()) + ", counted from 0");
}

template <class Real>
double Model<Real>::forward(Tape<Real>& tape) {
  Forward<Real> pass(network_, parameters_, tape, data_);
  const Variable<Real> logits = pass.run(network_.layers, tape.constant(data_.features));
  return cross_entropy(tape, logits, data_.targets, network_.reduction);
}

template <class Real>
double Model<Real>::loss() {
  Tape<Real> tape(device_, false);
  return forward(tape);
}

template <class Real>
double Model<Real>::backward(const typename Tape<Real>::Sink& sink) {
  Tape<Real> tape(device_, true);
  const double loss = forward(tape);
  tape.backward(sink);
  return loss;
}

template class Model<float>;
template class Model<double>;

}  // namespace scalecalc::tensor

#pragma once

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "moments/attention_residual.hpp"
#include "moments/calculus.hpp"
#include "moments/first_values.hpp"
#include "moments/image_profile.hpp"
#include "moments/ledger.hpp"
#include "moments/log_covariance.hpp"
#include "moments/loss_gradient.hpp"
#include "moments/loss_variance.hpp"
#include "moments/slope_correlation.hpp"
#include "moments/weightless.hpp"
#include "network/read_ahead.hpp"

namespace scalecalc::moments {

/// Whether the head's matrix is the table that the network begins with.
inline bool is_tied(const Network& network) {
  if (network.layers.empty()) return false;
  const auto* head = std::get_if<Linear>(&network.layers.back().op);
  return head != nullptr && head->tied;
}

/// Reads the tape from its end: the gradient at every site, and of every parameter. What a kind of
/// layer does is its `backward_step(BackwardPass<C, X>&, const Kind&, Gradient<X>)` in layers/; a
/// kind without one does not compile.
/// How the gradient at the logits follows them, as in LossGradient.
template <class X>
struct LogitSlopes {
  X pairs;
  double own = 0;
};

template <class C, class X>
class BackwardPass {
 public:
  using N = typename C::Number;
  BackwardPass(C& calculus, const Network& network, Ledger<C, X>& ledger)
      : calculus_(calculus),
        network_(network),
        batch_(calculus.size(network.batch, "batch")),
        ledger_(ledger) {}

  /// From the gradient `g` of the loss in the logits: H y is along y.
  Gradient<X> run(Gradient<X> g, LossGradient<X> loss) {
    g.aligned = loss.hessian;
    g.own = loss.own;
    g.size_exponent = loss.slopes ? loss.size_slope : 1;
    if (loss.slopes) logit_slopes_ = LogitSlopes<X>{std::move(*loss.slopes), loss.size_slope};
    if constexpr (C::next_orders) start_covariances(g);
    return run(network_.layers, std::move(g));
  }

  Gradient<X> run(const std::vector<Layer>& layers, Gradient<X> g) {
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
      ++steps_;
      read_ahead(layer, layers.rend());
      const auto step = [&](const auto& op) { return backward_step(*this, op, std::move(g)); };
      if (is_identity(*layer)) {
        g = std::visit(step, layer->op);
        continue;
      }
      if (!keeps_slope_correlation(*layer)) g.slope_correlation.reset();
      if (!keeps_of_stream(*layer)) g.of_stream.reset();
      if (!keeps_along_tokens(*layer)) g.along_tokens.reset();
      g = std::visit(step, layer->op);
      if constexpr (C::next_orders) {
        limit(g.error);
        limit(g.truncation);
      }
      if (draws_weights(*layer)) g.with_sums.reset();
      if (!std::holds_alternative<Norm>(layer->op)) g.of_populations.reset();
      if (!std::holds_alternative<Pool>(layer->op)) g.read_token.reset();
      if (!std::holds_alternative<Norm>(layer->op)) g.at_constant.reset();
      if (!keeps_profile(*layer)) g.profile.reset();
      g.by_slopes = is_pointwise(*layer) || (g.by_slopes && !draws_weights(*layer));
      if (!std::holds_alternative<ActivationLayer>(layer->op)) g.feature_mean = 0;
    }
    return g;
  }

  /// What residual attention behind these layers gives the scores.
  void add_scores(ScoreGradient<X> scores) { scores_ = std::move(scores); }

  /// Writes g into the record of a site.
  void note(std::size_t site, const Gradient<X>& g) {
    if (site == no_site) return;
    SiteRecord<N>& record = ledger_.sites[site];
    if (site > 3) base::prefetch(&ledger_.sites[site - 4], sizeof(SiteRecord<N>));
    record.gradient = average(g.x);
    record.grad_spread = shown(g.spread);
    if constexpr (C::next_orders) {
      if (!g.coupling) record.grad_spread.batch_variance = g.log_covariance.value(0, 0);
    }
    record.has_grad_shift = g.coupling && !(g.spread.log_range > 0);
    record.grad_error = g.error;
    record.grad_truncation = g.truncation;
    if constexpr (C::next_orders) {
      record.grad_truncation.second = std::min<double>(g.truncation.second, most_error);
      const Alike<double> found = values_of(calculus_, record.gradient);
      state_impossible(found, record.grad_truncation);
      limit_cross(found, record.grad_truncation);
    }
    calculus_.check(*record.path, record.gradient);
  }
  /// note() right below a norm over samples: with the gradient of features that are constant over
  /// them (docs/theory/layers.md#norm-constant).
  void note_below_norm(std::size_t site, Gradient<X>& g) {
    if (!g.at_constant) return note(site, g);
    Gradient<X> shown = g;
    shown.x = sum(g.x, *g.at_constant);
    g.at_constant.reset();
    note(site, shown);
  }
  /// What has been noted in these records, in those of the layers that ForwardPass::repeat took
  /// them for, the `times`-th time.
  void repeat(const RecordRange& of, std::size_t times) {
    const auto again = [&](auto& records, std::size_t from, std::size_t to) {
      for (std::size_t at = from; at < to; ++at) {
        auto& other = records[at + times * (to - from)];
        const std::string* const path = other.path;
        other = records[at];
        other.path = path;
      }
    };
    again(ledger_.sites, of.from.site, of.to.site);
    again(ledger_.parameters, of.from.parameter, of.to.parameter);
  }
  /// What the forward step of the layer kept; it is there until the pass is over.
  template <class Op>
  Kept<Op, C, X>& take() {
    return ledger_.tape.template pop<Op>();
  }
  ParameterRecord<N>& parameter(std::size_t index) {
    if (index > 7) base::prefetch(&ledger_.parameters[index - 8], sizeof(ParameterRecord<N>));
    return ledger_.parameters[index];
  }

  /// Through so many layers the gradient has come.
  double steps() const { return steps_; }

  C& calculus() const { return calculus_; }
  const Network& network() const { return network_; }
  const N& batch() const { return batch_; }
  N tokens(std::int64_t count) const { return calculus_.size(count, "tokens"); }
  Counts counts(std::int64_t tokens) const {
    return {static_cast<double>(tokens), static_cast<double>(network_.batch)};
  }
  /// What the head reads; of layers without one, what the first of them has.
  std::int64_t stream_width() const {
    const auto* head = std::get_if<Linear>(&network_.layers.back().op);
    return head != nullptr ? head->fan_in : ledger_.sites.front().width;
  }
  const LossVariance& head() const { return head_; }
  /// Looked for when it is first asked: few networks have norms over samples.
  bool has_windows() {
    if (!has_windows_) has_windows_ = reads_windows(network_);
    return *has_windows_;
  }
  std::optional<ScoreGradient<X>>& scores() { return scores_; }
  /// What all attention behind gives the values that it reads.
  std::optional<FirstGradient<X>>& first_values() { return first_values_; }
  /// What all cross-attention behind gives the memory.
  std::optional<MemoryGradient<X>>& memory() { return memory_; }
  /// What all modulations behind give the condition.
  std::optional<Gradient<X>>& condition() { return condition_; }
  /// Of the logits: known to the head's weights, which are the first to ask.
  std::optional<LogitSlopes<X>> take_logit_slopes() {
    return std::exchange(logit_slopes_, std::nullopt);
  }

 private:
  void start_covariances(Gradient<X>& g) {
    const SiteRecord<N>& logits = ledger_.sites.back();
    const Alike<double> y = values_of(calculus_, logits.x), of_loss = values_of(calculus_, g.x);
    if (!is_plain(network_)) {
      g.log_covariance =
          covariance_of_loss(network_, y, ledger_.last_spread, of_loss, counts(logits.tokens));
      return;
    }
    head_ = loss_variance(network_, y, ledger_.last_spread, of_loss, counts(logits.tokens));
    g.spread = head_.spread;
    g.coupling = SignalCoupling{head_.sensitivity, 1, head_.squared_cosine, 0, 0, 1};
    if (g.spread.log_range > 0) g.truncation = error_of_range(g.spread.log_range);
  }

  C& calculus_;
  std::optional<bool> has_windows_;
  const Network& network_;
  N batch_;
  double steps_ = 0;
  Ledger<C, X>& ledger_;
  LossVariance head_;
  std::optional<LogitSlopes<X>> logit_slopes_;
  std::optional<ScoreGradient<X>> scores_;  ///< of residual attention
  std::optional<FirstGradient<X>> first_values_;
  std::optional<MemoryGradient<X>> memory_;
  std::optional<Gradient<X>> condition_;
};

}  // namespace scalecalc::moments

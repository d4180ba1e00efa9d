#pragma once

#include <cmath>
#include <optional>

#include "moments/conv2d.hpp"
#include "moments/dropout.hpp"
#include "moments/embedding.hpp"
#include "moments/head.hpp"
#include "moments/linear.hpp"
#include "moments/pool.hpp"
#include "moments/records.hpp"
#include "moments/residual.hpp"
#include "moments/tied.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::moments {

/// Everything a propagation writes and reads.
template <class C, class X>
struct Ledger {
  using N = typename C::Number;
  Pieces<SiteRecord<N>> sites;
  Pieces<ParameterRecord<N>> parameters;
  Tape<C, X> tape;
};

/// Sends a signal through layers, writing sites, parameters and the tape.
template <class C, class X>
class ForwardPass {
 public:
  using N = typename C::Number;
  /// `memory`: what cross-attention attends to.
  ForwardPass(C& calculus, const Network& network, bool backward,
              const std::optional<Signal<X>>& memory, Ledger<C, X>& ledger)
      : calculus_(calculus),
        network_(network),
        backward_(backward),
        memory_(memory),
        ledger_(ledger) {}

  Signal<X> run(const std::vector<Layer>& layers, Signal<X> x) {
    bool tied = false;
    for (const Layer& layer : layers) {
      x = std::visit(
          [&]<class Op>(const Op& op) {
            if constexpr (std::is_same_v<Op, ActivationLayer>)
              return apply(op, std::move(x), tied);
            else
              return apply(op, std::move(x));
          },
          layer.op);
      tied = keeps_tie(layer);
    }
    return x;
  }

  /// The scores that residual attention before these layers has added up.
  void add_scores(ScoreSum<X> scores) { scores_ = std::move(scores); }

  std::size_t site(const std::string& path, const char* kind, Signal<X>& x,
                   const char* suffix = "") {
    calculus_.settle(path, x);
    SiteRecord<N>& made = ledger_.sites.push({});
    made.path = &path;
    made.suffix = suffix;
    made.kind = kind;
    made.width = x.width;
    made.tokens = x.tokens;
    made.x = average(x.x);
    made.spread = x.spread;
    made.error = x.error;
    made.truncation = x.truncation;
    return ledger_.sites.size() - 1;
  }

 private:
  Counts counts(const Signal<X>& x) const {
    return {static_cast<double>(x.tokens), static_cast<double>(network_.batch)};
  }

  std::size_t parameter(const std::string& path, const char* suffix, std::int64_t rows,
                        std::int64_t columns, double second) {
    ParameterRecord<N>& made = ledger_.parameters.push({});
    made.path = &path;
    made.suffix = suffix;
    made.rows = rows;
    made.columns = columns;
    made.second = calculus_.real(second);
    return ledger_.parameters.size() - 1;
  }
  std::size_t weights(const Linear& layer) {
    const std::size_t index =
        parameter(layer.path, ".weight", layer.fan_in, layer.fan_out, layer.std * layer.std);
    if (layer.bias)
      parameter(layer.path, ".bias", 1, layer.fan_out, layer.bias_std * layer.bias_std);
    return index;
  }

  /// Behind dropout tokens' sizes stray by their masks, and the gradients of weights with them.
  static Doubt with_sizes_of(const Signal<X>& x) {
    Doubt doubt = x.truncation;
    doubt.second += x.kurtosis * (1 - 1 / x.mixture.square()) / static_cast<double>(x.width);
    return doubt;
  }

  template <class Entry>
  void keep(Entry entry) {
    if (backward_) ledger_.tape.push(std::move(entry));
  }

  Signal<X> apply(const Linear& layer, Signal<X> x) {
    calculus_.enter(layer.path);
    Signal<X> y = linear_forward(calculus_, layer, x, counts(x));
    const bool is_head = &layer == std::get_if<Linear>(&network_.layers.back().op);
    const std::size_t at = site(layer.path, is_head ? "head" : "linear", y);
    OverlapStrays overlap;
    if constexpr (C::next_orders) overlap = overlap_strays(calculus_, x);
    keep(WeightTape<X>{
        {at, weights(layer), x.tokens}, std::move(x.x), x.spread, with_sizes_of(x), overlap});
    return y;
  }

  /// `tied`: the layer below takes the tie.
  Signal<X> apply(const ActivationLayer& layer, Signal<X> x, bool tied) {
    calculus_.enter(layer.path);
    ActivationTape<X> tape;
    const auto phi = calculus_.function(layer.function);
    note_kernel(phi, x, tape);
    Signal<X> y = activation_forward(calculus_, phi, x, counts(x), {backward_, backward_ && tied},
                                     tape.record);
    tape.error = calculus_.take_slope_error();
    tape.at = {site(layer.path, "activation", y), 0, x.tokens};
    keep(std::move(tape));
    return y;
  }

  void note_kernel(const typename C::Function& phi, const Signal<X>& u, ActivationTape<X>& tape) {
    if constexpr (C::next_orders) {
      if (!backward_) return;
      tape.overlap = overlap_strays(calculus_, u);
      tape.kernel =
          slope_kernel(calculus_, phi, values_of(calculus_, u.x), tape.overlap, counts(u));
    }
  }

  Signal<X> apply(const Norm& layer, Signal<X> x) {
    return apply(layer, std::move(x), layer.path, "norm");
  }

  /// A norm that closes a residual shows at the residual's path.
  Signal<X> apply(const Norm& layer, Signal<X> x, const std::string& path, const char* kind) {
    calculus_.enter(path);
    NormTape<X> tape;
    tape.spread = x.spread;
    tape.truncation = x.truncation;
    Signal<X> y = norm_forward(calculus_, layer, x, counts(x), tape.record);
    if constexpr (C::next_orders) tape.overlap = overlap_strays(calculus_, y);
    tape.at = {site(path, kind, y), 0, x.tokens};
    if (layer.affine) {
      tape.at.parameter = parameter(layer.path, ".gain", 1, layer.width, 1);
      parameter(layer.path, ".shift", 1, layer.width, 0);
    }
    keep(std::move(tape));
    return y;
  }

  Signal<X> apply(const Attention& layer, Signal<X> x) {
    calculus_.enter(layer.path);
    const Signal<X>* memory = layer.over_memory && memory_ ? &*memory_ : nullptr;
    auto made = attention_forward(calculus_, layer, x, memory, counts(x),
                                  layer.residual_attention ? &scores_ : nullptr);
    AttentionTape<C, X> tape;
    tape.spread = x.spread;
    tape.truncation = with_sizes_of(x);
    tape.q = {site(layer.q.path, "linear", made.q), weights(layer.q), x.tokens};
    tape.k = {site(layer.k.path, "linear", made.k), weights(layer.k), made.k.tokens};
    tape.v = {site(layer.v.path, "linear", made.v), weights(layer.v), made.v.tokens};
    tape.mix = {site(layer.path, "attention", made.mix, ".mix"), 0, x.tokens};
    tape.record = std::move(made.record);
    keep(std::move(tape));
    Signal<X> y = std::move(made.mix);
    if (layer.norm) y = apply(*layer.norm, std::move(y));
    return apply(layer.o, std::move(y));
  }

  Signal<X> apply(const Gated& layer, Signal<X> x) {
    calculus_.enter(layer.path);
    GatedTape<X> tape;
    const Counts over = counts(x);
    if constexpr (C::next_orders) tape.overlap = overlap_strays(calculus_, x);
    Signal<X> gate = linear_forward(calculus_, layer.gate, x, over);
    tape.gate = {site(layer.gate.path, "linear", gate), weights(layer.gate), x.tokens};
    Signal<X> in = linear_forward(calculus_, layer.in, x, over);
    tape.in = {site(layer.in.path, "linear", in), weights(layer.in), x.tokens};
    const auto phi = calculus_.function(layer.function);
    if constexpr (C::next_orders)
      if (backward_)
        tape.kernel = slope_kernel(calculus_, phi, values_of(calculus_, gate.x),
                                   overlap_strays(calculus_, gate), over);
    Signal<X> y = gated_forward(calculus_, phi, gate, in, over, tape.record);
    tape.error = calculus_.take_slope_error();
    tape.at = {site(layer.path, "gated", y), 0, x.tokens};
    tape.spread = x.spread;
    tape.truncation = with_sizes_of(x);
    tape.input = std::move(x.x);
    keep(std::move(tape));
    return y;
  }

  Signal<X> apply(const Dropout& layer, Signal<X> x) {
    calculus_.enter(layer.path);
    Signal<X> y = dropout_forward(calculus_, layer, x, counts(x));
    const std::size_t at = site(layer.path, "dropout", y);
    keep(DropoutTape<X>{{at, 0, x.tokens}, std::move(x.mixture), std::move(x.x)});
    return y;
  }

  Signal<X> apply(const Pool& layer, Signal<X> x) {
    calculus_.enter(layer.path);
    Signal<X> y = pool_forward(calculus_, x);
    keep(PlainTape{{site(layer.path, "pool", y), 0, x.tokens}});
    return y;
  }

  Signal<X> apply(const Conv2d& layer, Signal<X> x) {
    calculus_.enter(layer.path);
    Signal<X> y = conv_forward(calculus_, layer, x, counts(x));
    const std::size_t at = site(layer.path, "conv2d", y);
    keep(WeightTape<X>{
        {at, weights(layer.weight), x.tokens}, std::move(x.x), x.spread, x.truncation});
    return y;
  }

  SumTape<X> sum_tape(const Residual& layer, Places at, const Signal<X>& x, const Signal<X>& y,
                      Signal<X>& branch) {
    SumTape<X> tape;
    tape.at = at;
    if constexpr (C::next_orders) {
      const double m = values_of(calculus_, y.x).second;
      const double a = layer.skip, b = layer.branch;
      if (m > 0) {
        tape.stream_share = a * a * values_of(calculus_, x.x).second / m;
        tape.branch_share = b * b * values_of(calculus_, branch.x).second / m;
      }
      const double together = a * a * x.overlap.coherent + b * b * branch.overlap.coherent;
      if (y.overlap.coherent > 0) tape.stream_overlap = together / y.overlap.coherent;
    }
    tape.after_activation = x.spread.skew != 0;
    tape.branch = std::move(branch.x);
    return tape;
  }

  Signal<X> apply(const Residual& layer, Signal<X> x) {
    Signal<X> start = x;
    start.spread.pull = 1;
    Signal<X> branch = run(layer.body, std::move(start));
    std::size_t scale = 0;
    if (layer.trainable_branch)
      scale = parameter(layer.path, ".scale", 1, 1, layer.branch * layer.branch);
    if (!layer.shortcut.empty()) x = run(layer.shortcut, std::move(x));
    calculus_.enter(layer.path);
    MixedSum kinds;
    Signal<X> y = residual_forward(calculus_, layer, x, branch, counts(x), &kinds);
    const auto keep_sum = [&](std::size_t at) {
      SumTape<X> tape = sum_tape(layer, {at, scale, x.tokens}, x, y, branch);
      tape.kinds = std::move(kinds);
      keep(std::move(tape));
    };
    if (!layer.norm) {
      keep_sum(site(layer.path, "residual", y));
      return y;
    }
    calculus_.settle(layer.path, y);
    keep_sum(no_site);
    return apply(*layer.norm, std::move(y), layer.path, "residual");
  }

  /// Moments without a mean, each larger by as much.
  static X shifted(const X& x, const N& by) {
    return without_mean(each(x, [&](const N& entry) { return N(entry + by); }));
  }

  Signal<X> apply(const DualStream& layer, Signal<X> x) {
    if (!is_token_norm(layer.norm.kind) && layer.norm.kind != NormKind::none)
      throw Error(ErrorKind::input, "no rule covers two streams with a norm over samples",
                  layer.path, "layernorm or rmsnorm, as ResiDual has it");
    const auto mean = [](const Signal<X>& signal) { return N(average(signal.x).mean); };
    Signal<X> z = x;
    X both = without_mean(x.x);  // E x z
    for (const Residual& sublayer : layer.sublayers) {
      Signal<X> start = x;
      start.spread.pull = 1;
      Signal<X> branch = run(sublayer.body, std::move(start));
      calculus_.enter(sublayer.path);
      Residual plain;
      plain.branch = sublayer.branch;
      const N a = calculus_.skip(sublayer), b = calculus_.branch(sublayer), b2 = b * b;
      both = combine(both, branch.x, [&](const N& w, const N& f) { return N(a * w + b2 * f); });
      both = shifted(both, N(b * mean(branch) * (a * mean(x) + mean(z))));
      // The branch follows the size of x, of which z knows nothing.
      Signal<X> apart = branch;
      apart.spread.pull = 0;
      z = residual_forward(calculus_, plain, z, apart, counts(z));
      Signal<X> total = residual_forward(calculus_, sublayer, x, branch, counts(x));
      if (sublayer.norm->kind == NormKind::layernorm)
        both = shifted(both, N(-mean(total) * mean(z)));
      const X scale = norm_scale(calculus_, *sublayer.norm, total.x);
      both = product(both, scale);
      keep(DualTape<X>{{no_site, 0, x.tokens}, scale});
      x = apply(*sublayer.norm, std::move(total), sublayer.path, "residual");
    }
    if (layer.norm.kind == NormKind::layernorm) both = shifted(both, N(-mean(x) * mean(z)));
    const X scale = norm_scale(calculus_, layer.norm, z.x);
    keep(DualTape<X>{{no_site, 0, x.tokens}, scale});
    const Signal<X> normed = apply(layer.norm, std::move(z));
    calculus_.enter(layer.path);
    Residual plain;
    Signal<X> y = residual_forward(calculus_, plain, x, normed, counts(x));
    const X shared = product(both, scale);
    y.x = sum(y.x, scaled(shifted(shared, N(-mean(x) * mean(normed))), N(2)));
    if constexpr (C::next_orders) {
      // Of two normalised tokens at a cosine rho, x.z strays by (1 - rho^2)^2/n and the sum by (1 -
      // rho)^2 of what independent ones would.
      const double m = values_of(calculus_, x.x).second;
      const double rho = m > 0 ? values_of(calculus_, shared).second / m : 0;
      y.spread.one *= (1 - rho) * (1 - rho);
      y.spread.all *= (1 - rho) * (1 - rho);
      // What x.F, of variance 1/n, does to a norm and to x.z together is left out.
      y.truncation.second += 1 / static_cast<double>(layer.norm.width);
      y.truncation.cross += 1 / static_cast<double>(layer.norm.width);
    }
    const std::size_t at = site(layer.path, "dual", y);
    keep(DualSumTape<X>{{at, 0, x.tokens}, std::move(x.x), normed.x, shared});
    return y;
  }

  Signal<X> apply(const Embedding& layer, Signal<X> x) {
    calculus_.enter(layer.path);
    const N tokens = calculus_.size(x.tokens, "tokens");
    const double collision = token_collision(network_, layer);
    x.x = uniform(x.x, embedded(calculus_, layer, collision, tokens));
    x = input_signal(calculus_, std::move(x.x), layer.width, x.tokens, counts(x));
    if constexpr (C::next_orders)
      x.overlap.coherent = std::hypot(x.overlap.coherent, word_overlap(layer, collision));
    x.repeats = collision;
    x.triples = triple_word(network_, layer);
    x.same_words = layer.position_std == 0;
    x.different = different_words(network_, layer, static_cast<double>(x.tokens));
    const std::size_t at = site(layer.path, "embedding", x);
    const std::size_t index =
        parameter(layer.path, ".weight", layer.vocab, layer.width, layer.std * layer.std);
    if (layer.position_std > 0)
      parameter(layer.path, ".position", network_.sequence, layer.width,
                layer.position_std * layer.position_std);
    keep(PlainTape{{at, index, x.tokens}});
    return x;
  }

  C& calculus_;
  const Network& network_;
  bool backward_;
  const std::optional<Signal<X>>& memory_;
  std::optional<ScoreSum<X>> scores_;  ///< of residual attention
  Ledger<C, X>& ledger_;
};

}  // namespace scalecalc::moments

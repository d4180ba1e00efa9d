#pragma once

#include <cmath>
#include <utility>

#include "moments/forward_pass.hpp"
#include "moments/head_spread.hpp"
#include "moments/strays.hpp"
#include "moments/tied.hpp"

namespace scalecalc::moments {

/// Reads the tape from its end: the gradient at every site, and of every parameter.
template <class C, class X>
class BackwardPass {
 public:
  using N = typename C::Number;
  BackwardPass(C& calculus, const Network& network, Ledger<C, X>& ledger)
      : calculus_(calculus),
        network_(network),
        batch_(calculus.size(network.batch, "batch")),
        ledger_(ledger) {}

  /// From the gradient of the loss in the logits; `hessian` and `slopes` as in LossGradient: H y is
  /// along y.
  Gradient<X> run(Gradient<X> g, const N& hessian, std::optional<X> slopes = {}) {
    g.aligned = hessian;
    head_slopes_ = std::move(slopes);
    if constexpr (C::next_orders) {
      const SiteRecord<N>& logits = ledger_.sites.back();
      if (is_plain(network_)) {
        head_ = head_spread(network_, values_of(calculus_, logits.x), logits.spread,
                            values_of(calculus_, g.x), counts(logits.tokens));
        g.spread = head_.spread;
        g.follow = Follow{head_.sense, 1, head_.parallel, 0, 0, 1};
        if (g.spread.far > 0) g.truncation = doubt_of(g.spread.far);
      } else {
        g.strays = strays_of_loss(network_, values_of(calculus_, logits.x), logits.spread,
                                  values_of(calculus_, g.x), counts(logits.tokens));
      }
    }
    return run(network_.layers, std::move(g));
  }

  /// What residual attention behind these layers gives the scores.
  void add_scores(ScoreGradient<X> scores) { scores_ = std::move(scores); }

  void note(std::size_t site, const Gradient<X>& g) {
    if (site == no_site) return;
    SiteRecord<N>& record = ledger_.sites[site];
    record.gradient = average(g.x);
    record.grad_spread = g.spread;
    if constexpr (C::next_orders) {
      if (!g.follow) record.grad_spread.all = g.strays.now(0, 0);
    }
    record.has_grad_shift = g.follow && !(g.spread.far > 0);
    record.grad_error = g.error;
    record.grad_truncation = g.truncation;
    calculus_.check(*record.path, record.gradient);
  }

 private:
  Gradient<X> run(const std::vector<Layer>& layers, Gradient<X> g) {
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
      if (!keeps_tie(*layer)) g.tie.reset();
      g = std::visit([&](const auto& op) { return back(op, std::move(g)); }, layer->op);
    }
    return g;
  }

  /// Of a sum of gradients over tokens, what the doubt of their crosses makes.
  double coherent_doubt(const Gradient<X>& g, const Counts& over) const {
    const Alike<double> x = values_of(calculus_, g.x);
    const double pairs = (over.tokens - 1) * g.truncation.cross * x.second;
    const double total = row_sum(x, over);
    return total > 0 ? pairs / total : 0;
  }

  /// Where the gradients of all tokens add up to 0 exactly, what rounding leaves of it.
  N bias_of(const X& gradient, const N& tokens) const {
    return calculus_.positive(bias_gradient(gradient, tokens, batch_));
  }

  template <class Entry>
  Entry take() {
    return ledger_.tape.template pop<Entry>();
  }
  Counts counts(std::int64_t tokens) const {
    return {static_cast<double>(tokens), static_cast<double>(network_.batch)};
  }
  N tokens(std::int64_t count) const { return calculus_.size(count, "tokens"); }

  void fill(std::size_t parameter, const N& gradient, double spread, const Doubt& error,
            const Doubt& truncation) {
    ParameterRecord<N>& record = ledger_.parameters[parameter];
    record.gradient = gradient;
    record.spread = spread;
    record.error = error.second;
    record.truncation = truncation.second;
  }
  void fill(std::size_t parameter, const N& gradient, const Gradient<X>& g, const Spread& input) {
    fill(parameter, gradient, g.spread.all + input.all, g.error, g.truncation);
  }
  /// What a gradient of sum_t x_t g_t strays by, beside x.
  void stray(std::size_t parameter, const Gradient<X>& g, const X& input, const Spread& spread,
             std::int64_t of) {
    if constexpr (C::next_orders) {
      if (g.follow) return;
      ledger_.parameters[parameter].spread =
          strays_of_product(g.strays, values_of(calculus_, input), values_of(calculus_, g.x),
                            counts(of)) +
          spread.all;
    }
  }
  /// The same of a bias: the sum alone.
  void stray_bias(std::size_t parameter, const Gradient<X>& g) {
    if constexpr (C::next_orders) {
      if (!g.follow) ledger_.parameters[parameter].spread = std::max(g.strays.now(1, 1), 0.0);
    }
  }

  /// Of sum over tokens x_t g_t, relative to its size: what is not known of x and of g, where the
  /// products of different tokens add up.
  NonNegative product_doubt(const X& input, const Doubt& of_input, const Gradient<X>& g,
                            const Counts& over) const {
    const Alike<double> x = values_of(calculus_, input), k = values_of(calculus_, g.x);
    const auto pairs = [&](double a, double b) {
      return (over.tokens - 1) * std::fabs(a) + (over.batch - 1) * over.tokens * std::fabs(b);
    };
    const double total = x.second * k.second + (over.tokens - 1) * x.cross * k.cross +
                         (over.batch - 1) * over.tokens * x.between * k.between;
    if (!(total > 0)) return g.truncation.second + of_input.second;
    const double own = x.second * k.second * (of_input.second + g.truncation.second);
    const double others = x.second * of_input.cross * pairs(k.cross, k.between) +
                          k.second * g.truncation.cross * pairs(x.cross, x.between);
    return (own + others) / total;
  }

  void weights(const Linear& layer, std::size_t parameter, const X& input, const Gradient<X>& g,
               const Spread& spread, const Doubt& truncation, const OverlapStrays& overlap,
               std::int64_t of) {
    fill(parameter, weight_gradient(calculus_, layer, input, g.x, tokens(of), batch_), g, spread);
    stray(parameter, g, input, spread, of);
    if constexpr (C::next_orders) {
      ledger_.parameters[parameter].truncation = product_doubt(input, truncation, g, counts(of));
      add_overlaps(layer, parameter,
                   overlap_covariance(g.slopes, overlap, gain_of(layer), counts(of)));
    }
    if (layer.bias) {
      fill(parameter + 1, bias_of(g.x, tokens(of)), g, {});
      stray_bias(parameter + 1, g);
    }
    if constexpr (C::next_orders) {
      if (!g.follow) return;
      const Alike<double> x = values_of(calculus_, input);
      const double share = input_share(calculus_, layer, input);
      stray(ledger_.parameters[parameter],
            weight_strays(head_, g.spread, *g.follow, spread, share, x, counts(of)));
      if (layer.bias)
        stray(ledger_.parameters[parameter + 1],
              weight_strays(head_, g.spread, *g.follow, {}, 0, {0, 1, 1, 1}, counts(of)));
    }
  }
  double gain_of(const Linear& layer) const {
    return static_cast<double>(layer.fan_in) * calculus_.value(calculus_.variance(layer));
  }
  /// Of what W^T does to k, beside what W does to r.
  static double back_ratio(const Linear& layer) {
    return static_cast<double>(layer.fan_out) / static_cast<double>(layer.fan_in);
  }
  /// Of the logits' overlaps, whose strays are those of the head's input.
  void start_slopes(const OverlapStrays& input, double gain, Gradient<X>& g) {
    if constexpr (C::next_orders) {
      const Alike<double> rise = values_of(calculus_, *head_slopes_);
      g.slopes = {{rise.cross, rise.cross * gain * input.coherent},
                  {rise.between, rise.between * gain * input.coherent * input.apart}};
    }
    head_slopes_.reset();
  }
  void add_overlaps(const Linear& layer, std::size_t parameter, double covariance) {
    N& gradient = ledger_.parameters[parameter].gradient;
    gradient = calculus_.positive(gradient + weight_scale(calculus_, layer) * covariance);
  }
  static void stray(ParameterRecord<N>& record, const WeightStrays& strays) {
    record.spread = strays.spread;
    if (strays.far > 0)
      record.truncation = doubt_of(strays.far).second;
    else
      record.grad_shift = strays.shift;
  }

  /// Of a gradient with a part along y = x W, what W^T W brings back at random (linear_backward).
  double part_along(const Linear& layer, const N& aligned) const {
    Linear transposed = layer;
    std::swap(transposed.fan_in, transposed.fan_out);
    const double along = calculus_.value(aligned);
    return along * along * weight_noise(transposed) / 2;
  }

  /// W^T g: Gaussian in n_in features again.
  Gradient<X> through(const Linear& layer, const X& input, const OverlapStrays& overlap,
                      const Gradient<X>& g, std::int64_t of) {
    Gradient<X> out = linear_backward(calculus_, layer, input, g);
    if constexpr (C::next_orders) {
      const double gain = gain_of(layer);
      out.slopes = through_map(g.slopes, gain, gain * back_ratio(layer));
      out.slopes = with_part_along(out.slopes, part_along(layer, out.aligned), overlap);
      Linear transposed;
      transposed.distribution = layer.distribution;
      transposed.fan_in = layer.fan_out;
      transposed.fan_out = layer.fan_in;
      out.spread = back_through_linear(out.spread, out.follow, weight_noise(transposed),
                                       values_of(calculus_, out.x),
                                       static_cast<double>(layer.fan_in), counts(of));
      if (!g.follow)
        out.strays = stray_through(layer, values_of(calculus_, g.x), counts(of), g.strays);
    }
    return out;
  }
  static Strays stray_through(const Linear& layer, const Alike<double>& g, const Counts& over,
                              Strays strays) {
    Linear transposed;
    transposed.distribution = layer.distribution;
    transposed.fan_in = layer.fan_out;
    transposed.fan_out = layer.fan_in;
    stray_through_linear(strays, Coherent(g, over), weight_noise(transposed),
                         static_cast<double>(layer.fan_in));
    return strays;
  }

  Gradient<X> back(const Linear& layer, Gradient<X> g) {
    const auto tape = take<WeightTape<X>>();
    note(tape.at.site, g);
    if (head_slopes_) start_slopes(tape.overlap, gain_of(layer), g);
    weights(layer, tape.at.parameter, tape.input, g, tape.spread, tape.truncation, tape.overlap,
            tape.at.tokens);
    return through(layer, tape.input, tape.overlap, g, tape.at.tokens);
  }

  Gradient<X> back(const ActivationLayer&, Gradient<X> g) {
    const auto tape = take<ActivationTape<X>>();
    note(tape.at.site, g);
    Gradient<X> out = activation_backward(calculus_, tape.record, g, counts(tape.at.tokens));
    add_slope_error(out, g, tape.error);
    if constexpr (C::next_orders) {
      if (!g.follow) stray_through_activation(tape.record, g, tape.at.tokens, out);
      out.slopes = through_kernel(g.slopes, tape.kernel, values_of(calculus_, g.x), tape.overlap);
    }
    return out;
  }
  void stray_through_activation(const ActivationRecord<X>& record, const Gradient<X>& g,
                                std::int64_t of, Gradient<X>& out) const {
    const BackPassage& passed = record.passage;
    const auto width = static_cast<double>(record.width);
    const double latent = passed.forward.all - 2 / width * pairs_squared(passed.x, counts(of));
    const double follows = passed.passage.back_slope * passed.passage.back_slope;
    stray_through_slopes(out.strays,
                         {values_of(calculus_, record.slopes), passed.x, passed.slope_kurtosis,
                          follows * std::max(latent, 0.0), width},
                         values_of(calculus_, g.x), counts(of));
  }

  /// Without a norm tokens' sizes stray by more than 2/n, and what multiplies the gradient with
  /// them: as |x|^power. The gradient that comes down follows the same sizes, and the mean of the
  /// product is taken for the product of means.
  void add_size_doubt(Gradient<X>& g, const Spread& of, double power, std::int64_t width) const {
    const double latent = std::max(0.0, of.one - 2 / static_cast<double>(width));
    const double grown = std::max(power * power * latent / 2, power * of.far);
    const double doubt = std::expm1(std::min(grown, largest_log));
    g.truncation.second += doubt;
    g.truncation.cross += doubt;
  }

  /// An absolute error of E phi'^2 and its like, relative to what comes out.
  void add_slope_error(Gradient<X>& out, const Gradient<X>& g, double error) {
    if constexpr (C::next_orders) {
      const double before = values_of(calculus_, g.x).second;
      const double after = values_of(calculus_, out.x).second;
      if (!(after > 0)) return;
      out.error.second += error * before / after;
      out.error.cross += error * before / after;
    }
  }

  /// Of a gain, what a gradient along the output y adds: a sum y_t^2 has a mean, where along_output
  /// takes y and its gradient for independent.
  N aligned_gain(const X& y, const Gradient<X>& g, const N& of) const {
    if (g.tie) return N(0);
    const N total = average(y).second * of * batch_;
    const N pairs = pair_sum(product(y, y), of, batch_);
    const N whole = g.aligned * g.aligned * (total * total + pairs);
    if constexpr (C::next_orders)
      return whole + g.uneven * (total * total + 2 * pairs);  // E (sum y^2)^2
    return whole;
  }

  /// `shown`: the gradient at the norm's site where g is but a part of it.
  Gradient<X> back(const Norm& layer, Gradient<X> g, const Gradient<X>* shown = nullptr) {
    const auto tape = take<NormTape<X>>();
    const Gradient<X>& whole = shown ? *shown : g;
    note(tape.at.site, whole);
    const N of = tokens(tape.at.tokens);
    if (layer.affine) {
      const N drawn = pair_sum(along_output(tape.record.output, whole), of, batch_);
      fill(tape.at.parameter, drawn + aligned_gain(tape.record.output, whole, of), g, {});
      fill(tape.at.parameter + 1, bias_of(whole.x, of), g, {});
      if (tape.record.over_samples)
        for (const std::size_t at : {tape.at.parameter, tape.at.parameter + 1})
          ledger_.parameters[at].truncation += coherent_doubt(g, counts(tape.at.tokens));
    }
    const double radial = g.levels.radial;
    g = through_norm(tape, g, of);
    if constexpr (C::next_orders)
      scale_kinds(g,
                  below_norm(tape.record.mixture_norm, tape.record.kind_weight, radial, g.kinds));
    g.tie.reset();
    const Alike<double> out = values_of(calculus_, g.x);
    const double cross = out.second > 0 ? std::min(1.0, std::fabs(out.cross) / out.second) : 1;
    g.truncation.second += tape.truncation.second + tape.record.truncation;
    g.truncation.cross += (tape.truncation.second + tape.record.truncation) * cross;
    g.spread.one += tape.spread.one;
    g.spread.all += tape.spread.all;
    if constexpr (C::next_orders)
      stray_through_norm(g.strays, tape.spread.all + tape.spread.leaning);
    return g;
  }

  /// k = (k' - aligned^2 r')/(s_t s_u).
  Gradient<X> through_norm(const NormTape<X>& tape, const Gradient<X>& g, const N& of) {
    Gradient<X> out = norm_backward(calculus_, tape.record, g, of, batch_);
    if constexpr (C::next_orders) {
      const double scale = values_of(calculus_, tape.record.factors).second;
      out.slopes = with_part_along(g.slopes, -g.aligned * g.aligned, tape.overlap);
      out.slopes = through_map(out.slopes, scale, scale);
    }
    return out;
  }

  /// Gradients into scores are of D^2. What the rules make of D is that of a typical draw: E D^2 is
  /// e^(2 Var ln D) of its square.
  void stray(const Attention& layer, const Spread& spread, AttentionBackward<X>& made) {
    if constexpr (C::next_orders) {
      if (layer.over_memory) return;
      const N more = N(std::exp(2 * spread.apart));
      made.q = scaled(made.q, more);
      made.k = scaled(made.k, more);
      made.q_weight = made.q_weight * more;
      made.k_weight = made.k_weight * more;
      calculus_.assume("attention", "tokens differ by as much in every draw", "Var ln D",
                       spread.apart, 0.1);
    }
  }

  /// At the queries, keys and values, and of what comes back through them.
  struct AttentionStrays {
    Strays q, k, v, input;
  };
  AttentionStrays attention_strays(const Attention& layer, const AttentionTape<C, X>& tape,
                                   const Gradient<X>& g, const AttentionBackward<X>& made) const {
    AttentionStrays out;
    if constexpr (C::next_orders) {
      const Factors<X>& factors = tape.record.factors;
      const auto shares = [&](const X& of) {
        const Alike<double> one = values_of(calculus_, of);
        return StrayShares{one.second, one.cross};
      };
      const Alike<double> from = values_of(calculus_, g.x);
      const Counts over = counts(tape.mix.tokens);
      Strays start = g.strays;
      start.since.setIdentity();
      out.q = strays_to_queries(start, from, shares(factors.query), over);
      out.k = strays_to_keys(start, from, shares(factors.key), over);
      out.v = strays_to_keys(start, from, shares(factors.value), over);
      // Gradients into scores are of D^2, and of a few rows where a softmax is sharp: the same for
      // queries and keys.
      const double of_rows =
          tape.record.rows_variance / (static_cast<double>(layer.heads) * over.samples());
      const double of_scores = of_rows + (layer.over_memory ? 0 : 4 * tape.spread.apart);
      Alike<double> total = values_of(calculus_, linear_backward(calculus_, layer.q, made.q));
      out.input = stray_through(layer.q, values_of(calculus_, made.q), over, out.q);
      const auto add = [&](const Linear& linear, const X& x, const Strays& strays) {
        const Alike<double> more = values_of(calculus_, linear_backward(calculus_, linear, x));
        out.input = strays_of_sum(start, out.input,
                                  stray_through(linear, values_of(calculus_, x), over, strays),
                                  total, more, static_cast<double>(layer.q.fan_in), over);
        total = sum(total, more);
      };
      if (!layer.over_memory) add(layer.k, made.k, out.k);
      for (Strays* each : {&out.q, &out.k, &out.input}) stray_through_norm(*each, of_scores);
      if (!layer.over_memory) add(layer.v, made.v, out.v);
      out.input.since = out.input.since * g.strays.since;
    }
    return out;
  }

  Gradient<X> back(const Attention& layer, Gradient<X> g) {
    g = back(layer.o, std::move(g));
    if (layer.norm) g = back(*layer.norm, std::move(g));
    const auto tape = take<AttentionTape<C, X>>();
    note(tape.mix.site, g);
    auto made = attention_backward(calculus_, layer, tape.record, g.x, g.aligned,
                                   layer.residual_attention ? &scores_ : nullptr);
    stray(layer, tape.spread, made);
    const AttentionStrays strays = attention_strays(layer, tape, g, made);
    const auto part = [&](const Linear& linear, const Places& at, X&& x, const N& gradient,
                          double truncation, const Strays& own_strays) {
      Gradient<X> own{std::move(x), g.spread, g.error, g.truncation};
      own.strays = own_strays;
      own.truncation.second += truncation;
      own.truncation.cross += truncation;
      note(at.site, own);
      fill(at.parameter, gradient, own, tape.spread);
      stray(at.parameter, own, &linear == &layer.q ? tape.record.input : tape.record.source,
            tape.spread, at.tokens);
      ledger_.parameters[at.parameter].truncation += tape.truncation.second;
      if (!linear.bias) return;
      // A bias of all keys alike drops out of softmax.
      const bool drops = &linear == &layer.k && !layer.qk_norm;
      const N bias = drops ? N(0) : bias_of(own.x, tokens(at.tokens));
      fill(at.parameter + 1, bias, own, {});
      stray_bias(at.parameter + 1, own);
    };
    // Scores, and what comes back from them, go as |x|^2.
    const Doubt above = g.truncation;
    if constexpr (C::next_orders) add_size_doubt(g, tape.spread, 4, layer.q.fan_in);
    part(layer.q, tape.q, std::move(made.q), made.q_weight, made.q_truncation, strays.q);
    part(layer.k, tape.k, std::move(made.k), made.k_weight, made.k_truncation, strays.k);
    g.truncation = above;
    if constexpr (C::next_orders) add_size_doubt(g, tape.spread, 2, layer.q.fan_in);
    part(layer.v, tape.v, std::move(made.v), made.v_weight, made.v_truncation, strays.v);
    ledger_.parameters[tape.v.parameter].truncation += made.v_weight_truncation;
    g.strays = strays.input;
    g.x = std::move(made.input);
    // One weight of T, which each token's overlap has of a sum over keys, is left out.
    g.slopes = {};
    g.uneven = 0;
    g.levels = {};
    g.kinds = {};
    // Equal keys get the same from every query.
    g.equal_words = tape.record.words ? 1 - made.through_queries * (1 - g.equal_words)
                                      : made.through_queries * g.equal_words;
    g.aligned = made.aligned;
    g.truncation.second += made.truncation.second;
    g.truncation.cross += made.truncation.cross;
    return g;
  }

  /// r' = K(r_u) r_w of linear maps u and w of one x: k_u = k' D r_w and k_w = k' K. The slopes
  /// are in x's overlap, for both.
  void gated_slopes(const Gated& layer, const GatedTape<X>& tape, const Gradient<X>& g,
                    Gradient<X>& gate, Gradient<X>& in) const {
    if constexpr (C::next_orders) {
      const Alike<double> k = values_of(calculus_, g.x),
                          kernel = values_of(calculus_, tape.record.kernel),
                          x = values_of(calculus_, tape.input);
      const double of_gate = gain_of(layer.gate), of_in = gain_of(layer.in);
      const auto pair = [&](const OverlapSlope& s, const SlopeKernel::Pair& d, double k_out,
                            double phi, double r, double coherent, bool is_gate) {
        const double slope = d.value * r, forward = of_gate * slope + of_in * phi;
        const double factor = is_gate ? slope : phi;
        const double rise = is_gate ? d.rise * of_gate * r + d.value * of_in : d.value * of_gate;
        const double own = (s.own * forward * factor + k_out * rise);
        return OverlapSlope{own / (is_gate ? of_gate : of_in),
                            s.stream * factor + k_out * rise * coherent};
      };
      const auto both = [&](bool is_gate) {
        return OverlapSlopes{
            pair(g.slopes.within, tape.kernel.within, k.cross, kernel.cross, of_in * x.cross,
                 tape.overlap.coherent, is_gate),
            pair(g.slopes.between, tape.kernel.between, k.between, kernel.between,
                 of_in * x.between, tape.overlap.coherent * tape.overlap.apart, is_gate)};
      };
      gate.slopes = both(true);
      in.slopes = both(false);
    }
  }

  Gradient<X> back(const Gated& layer, Gradient<X> g) {
    const auto tape = take<GatedTape<X>>();
    note(tape.at.site, g);
    auto parts = gated_backward(tape.record, g.x);
    Gradient<X> gate = g, in = g;
    gate.aligned = in.aligned = N(0);
    gate.x = std::move(parts.gate);
    in.x = std::move(parts.in);
    gated_slopes(layer, tape, g, gate, in);
    add_slope_error(gate, g, tape.error);
    if constexpr (C::next_orders)
      for (Gradient<X>* part : {&gate, &in})
        add_size_doubt(*part, tape.spread, 2 * tape.record.exponent, layer.in.fan_in);
    if constexpr (C::next_orders) {
      const Alike<double> from = values_of(calculus_, g.x), x = values_of(calculus_, tape.input);
      const auto width = static_cast<double>(layer.in.fan_out);
      gate.strays.since.setIdentity();
      in.strays.since.setIdentity();
      stray_through_slopes(
          gate.strays,
          {values_of(calculus_, tape.record.slopes), x, tape.record.gate_kurtosis, 0, width}, from,
          counts(tape.at.tokens));
      stray_through_slopes(
          in.strays,
          {values_of(calculus_, tape.record.kernel), x, tape.record.in_kurtosis, 0, width}, from,
          counts(tape.at.tokens));
    }
    note(tape.gate.site, gate);
    note(tape.in.site, in);
    weights(layer.gate, tape.gate.parameter, tape.input, gate, tape.spread, tape.truncation,
            tape.overlap, tape.at.tokens);
    weights(layer.in, tape.in.parameter, tape.input, in, tape.spread, tape.truncation, tape.overlap,
            tape.at.tokens);
    Gradient<X> out = through(layer.in, tape.input, tape.overlap, in, tape.at.tokens);
    const Gradient<X> other = through(layer.gate, tape.input, tape.overlap, gate, tape.at.tokens);
    if constexpr (C::next_orders)
      out.strays = strays_of_sum(g.strays, out.strays, other.strays, values_of(calculus_, out.x),
                                 values_of(calculus_, other.x),
                                 static_cast<double>(layer.in.fan_in), counts(tape.at.tokens));
    out.x = sum(out.x, other.x);
    out.slopes = out.slopes + other.slopes;
    return out;
  }

  /// What the kinds of features of dropout make of a gradient that knows them.
  void scale_kinds(Gradient<X>& g, const KindFactors& factors) const {
    if (factors.second == 1 && factors.cross == 1) return;
    const N second = calculus_.real(factors.second), cross = calculus_.real(factors.cross);
    g.x = each_cross(scaled(g.x, second), [&](const N& k) { return N(k * cross / second); });
  }
  Gradient<X> back(const Dropout& layer, Gradient<X> g) {
    const auto tape = take<DropoutTape<X>>();
    note(tape.at.site, g);
    g.x = sum(dropped(calculus_, layer, g.x),
              dropped_part_along(calculus_, layer, tape.input, g.aligned));
    g.aligned = g.aligned / (1 - calculus_.real(layer.rate));
    g.equal_words *= 1 - layer.rate;
    if constexpr (C::next_orders) scale_kinds(g, before_dropout(tape.before, g.kinds));
    return g;
  }
  Gradient<X> back(const Pool&, Gradient<X> g) {
    const auto tape = take<PlainTape>();
    note(tape.at.site, g);
    g.x = pool_backward(g.x, tokens(tape.at.tokens));
    g.kinds = {};
    g.slopes = {};
    g.uneven = 0;
    g.aligned = N(0);
    return g;
  }

  Gradient<X> back(const Conv2d& layer, Gradient<X> g) {
    const auto tape = take<WeightTape<X>>();
    note(tape.at.site, g);
    fill(tape.at.parameter, conv_weight_gradient(calculus_, layer, tape.input, g.x, batch_), g,
         tape.spread);
    const std::int64_t outputs = layer.out_height() * layer.out_width();
    if (layer.weight.bias) fill(tape.at.parameter + 1, bias_of(g.x, tokens(outputs)), g, {});
    g.x = conv_backward(calculus_, layer, g.x);
    g.kinds = {};
    g.slopes = {};
    g.uneven = 0;
    g.aligned = N(0);
    return g;
  }

  /// E (dL/da)^2 = d [T m_F g + T (T-1) r_F k] for y = x + a F
  /// (docs/theory/layers.md#branch-scale).
  void branch_scale(const Residual& layer, const SumTape<X>& tape, const Gradient<X>& g) {
    if (!layer.trainable_branch) return;
    const N features = calculus_.size(ledger_.sites.front().width, "width");
    fill(tape.at.parameter, features * token_sum(tape.branch, g.x, tokens(tape.at.tokens), batch_),
         g, {});
  }

  Gradient<X> back(const Residual& layer, Gradient<X> g) {
    if (layer.norm) g = back(*layer.norm, std::move(g));
    const auto tape = take<SumTape<X>>();
    note(tape.at.site, g);
    branch_scale(layer, tape, g);
    const N a = calculus_.skip(layer), b = calculus_.branch(layer);
    const Strays start = g.strays;
    g.strays.since.setIdentity();
    Gradient<X> skip = g;
    skip.x = scaled(g.x, N(a * a));
    skip.aligned = g.aligned * a * a;
    if (tape.after_activation) repeated_slopes(calculus_, skip, tape.stream_share);
    if constexpr (C::next_orders) {
      skip.kinds = left_of(tape.kinds, g.kinds);
      g.kinds = right_of(tape.kinds, g.kinds);
      skip.slopes = through_sum_part(g.slopes, a * a, tape.stream_overlap);
      g.slopes = through_sum_part(g.slopes, b * b, tape.stream_overlap);
      skip.uneven *= a * a * a * a;
      g.uneven *= b * b * b * b;
    }
    tie_to(calculus_, skip, a);
    tie_to(calculus_, g, b);
    skip.levels.radial = across(g.levels.radial, tape.stream_share);
    g.levels.radial = across(g.levels.radial, tape.branch_share);
    if (!layer.shortcut.empty()) skip = run(layer.shortcut, std::move(skip));
    g.x = scaled(g.x, N(b * b));
    g.aligned = g.aligned * b * b;
    g.spread.pull = 1;
    Gradient<X> out = joined(std::move(skip), run(layer.body, std::move(g)), start, tape.at.tokens);
    if constexpr (C::next_orders) {
      // Both ways carry the same gradient where no weights lie between.
      const double share = std::clamp(tape.stream_share, 0.0, 1.0);
      if (keeps_input(layer.body)) {
        const double both = 2 * std::sqrt(share * (1 - share)) + 1;
        out.truncation.second += both;
        out.truncation.cross += both;
      }
    }
    return out;
  }

  /// The part along x of a gradient with `level` along a sum whose share x is.
  static double across(double level, double share) { return share * level + 1 - share; }

  /// The gradient that comes through a branch is independent of that on the skip.
  Gradient<X> joined(Gradient<X> skip, const Gradient<X>& branch, const Strays& start,
                     std::int64_t of) {
    if constexpr (C::next_orders) {
      const Alike<double> left = values_of(calculus_, skip.x),
                          right = values_of(calculus_, branch.x);
      const double total = left.second + right.second, p = total > 0 ? left.second / total : 1;
      skip.spread = through_sum(skip.spread, branch.spread, left, right,
                                static_cast<double>(ledger_.sites.front().width), counts(of));
      skip.strays = strays_of_sum(start, skip.strays, branch.strays, left, right,
                                  static_cast<double>(ledger_.sites.front().width), counts(of));
      const auto mixed = [&](const Doubt& s, const Doubt& t) {
        return Doubt{p * s.second + (1 - p) * t.second, p * s.cross + (1 - p) * t.cross};
      };
      skip.levels = {p * skip.levels.mean + (1 - p) * branch.levels.mean,
                     p * skip.levels.radial + (1 - p) * branch.levels.radial};
      skip.equal_words = p * skip.equal_words + (1 - p) * branch.equal_words;
      skip.kinds = sum_of_kinds(skip.kinds, branch.kinds, p);
      skip.error = mixed(skip.error, branch.error);
      skip.truncation = mixed(skip.truncation, branch.truncation);
    }
    skip.x = sum(skip.x, branch.x);
    skip.slopes = skip.slopes + branch.slopes;
    skip.uneven += branch.uneven;
    skip.aligned = skip.aligned + branch.aligned;
    skip.tie.reset();
    return skip;
  }

  /// u: gradient of x + F on its way to x'; gz: that of z; `both` = E[u gz]. F gets all of it.
  Gradient<X> back(const DualStream& layer, Gradient<X> g) {
    const auto last = take<DualSumTape<X>>();
    note(last.at.site, g);
    g.slopes = {};
    Gradient<X> gz = g;
    Gradient<X> whole_sum = g;
    // Of a (x + z), E x (x + z) is along either output.
    const N second = average(last.post).second;
    if constexpr (C::next_orders) {
      if (second > 0) whole_sum.aligned = g.aligned * (1 + average(last.both).second / second);
      whole_sum.uneven = 0;
    }
    const Gradient<X>* shown = &whole_sum;
    X both;
    split_aligned(last.post, last.dual, last.both, g, gz, both);
    g.uneven = gz.uneven = 0;
    gz = back(layer.norm, std::move(gz), shown);
    gz.kinds = {};
    both = product(both, take<DualTape<X>>().scale);
    for (auto sublayer = layer.sublayers.rbegin(); sublayer != layer.sublayers.rend(); ++sublayer) {
      g = back(*sublayer->norm, std::move(g), std::exchange(shown, nullptr));
      g.kinds = {};
      const auto tape = take<DualTape<X>>();
      both = product(both, tape.scale);
      const N a = calculus_.skip(*sublayer), b = calculus_.branch(*sublayer);
      const Strays start = g.strays;
      g.strays.since.setIdentity();
      Gradient<X> whole = g;
      whole.x = scaled(sum(sum(g.x, gz.x), scaled(both, N(2))), N(b * b));
      g.x = scaled(g.x, N(a * a));
      both = scaled(both, a);
      g = joined(std::move(g), run(sublayer->body, std::move(whole)), start, tape.at.tokens);
    }
    g.x = sum(sum(g.x, gz.x), scaled(both, N(2)));
    return g;
  }

  Gradient<X> back(const Embedding& layer, Gradient<X> g) {
    const auto tape = take<PlainTape>();
    note(tape.at.site, g);
    const N kappa = calculus_.real(token_collision(network_, layer));
    const N vocab = calculus_.size(layer.vocab, "vocab");
    const N same = equal_words(g);
    fill(tape.at.parameter, row_gradient(g.x, same, kappa, vocab, tokens(tape.at.tokens), batch_),
         g, {});
    if (layer.position_std > 0) fill(tape.at.parameter + 1, position_gradient(g.x, batch_), g, {});
    return g;
  }

  /// k at equal words less k at any two.
  N equal_words(const Gradient<X>& g) const {
    if constexpr (!C::next_orders) return N(0);
    const Alike<double> x = values_of(calculus_, g.x);
    return calculus_.real(std::max(0.0, g.equal_words * x.second - x.cross));
  }

  C& calculus_;
  const Network& network_;
  N batch_;
  Ledger<C, X>& ledger_;
  HeadSpread head_;
  std::optional<X> head_slopes_;  ///< dk/dr of the logits, until the head's weights have met them
  std::optional<ScoreGradient<X>> scores_;  ///< of residual attention
};

}  // namespace scalecalc::moments

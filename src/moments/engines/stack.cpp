#include "moments/engines/stack.hpp"

#include <array>

#include "moments/engines/cancel.hpp"
#include "moments/engines/recursion.hpp"
#include "moments/propagate.hpp"

namespace scalecalc::moments {
namespace {

constexpr std::size_t kReadable = 400;  ///< characters of a formula that is carried on
const char* const kIndex = "l";
constexpr std::array<const char*, 10> kSymbols{"mu", "m", "r", "g", "k", "h", "s", "u", "gs", "ks"};

/// Nothing when a symbol of the stream or of its gradient is left, or nobody would read it.
std::optional<Expr> settled(const Expr& raw) {
  const Expr formula = cancelled(raw);
  for (const char* name : kSymbols)
    if (formula.contains(name)) return std::nullopt;
  if (formula_text(formula).size() > kReadable) return std::nullopt;
  return formula;
}

Alike<Expr> cleaned(const Formulas& calculus, const Alike<Expr>& x) {
  return each(x, [&](const Expr& entry) { return cancelled(calculus.without_abs(entry)); });
}

/// A unit's last layer looks like a head to the passes.
std::vector<UnitSite> sites_of(const Formulas& calculus, Pieces<SiteRecord<Expr>>& records,
                               bool is_head) {
  std::vector<UnitSite> sites;
  const auto nothing = [](const SiteRecord<Expr>&) {};
  records.drain(nothing, nothing, [&](const SiteRecord<Expr>& record) {
    const bool renamed = !is_head && std::string_view(record.kind) == "head";
    sites.push_back({*record.path + record.suffix, renamed ? "linear" : record.kind,
                     record.tokens > 1, cleaned(calculus, record.x),
                     cleaned(calculus, record.gradient)});
  });
  return sites;
}

std::map<std::string, Expr> known_symbols(const StreamFormulas& stream) {
  std::map<std::string, Expr> known;
  if (stream.mean) known.emplace("mu", *stream.mean);
  if (stream.second) known.emplace("m", *stream.second);
  if (stream.cross) known.emplace("r", *stream.cross);
  return known;
}

/// x' in the symbols of the stream before the block, unit by unit.
Alike<Expr> composed(const std::vector<Unit>& block) {
  Alike<Expr> x{stream_mean(), stream_second(), stream_cross(), 0};
  for (const Unit& unit : block) {
    const StreamFormulas before{x.mean, x.second, x.cross};
    x = each(unit.out, [&](const Expr& entry) { return cancelled(put_known(entry, before)); });
  }
  return x;
}

std::optional<Expr> solved(const Expr& next, const char* symbol, const std::optional<Expr>& first,
                           const std::vector<Expr>& ratios = {}) {
  if (!first) return std::nullopt;
  for (const char* other : kSymbols)
    if (std::string(other) != symbol && next.contains(other)) return std::nullopt;
  return solve_recursion({symbol, next, *first, kIndex}, ratios);
}

/// A gradient in the symbols behind the whole block; nothing where the stream is unknown, whose
/// symbols are another unit's in each unit, or where something behind is.
std::optional<Expr> mapped(const Expr& entry, const StreamFormulas& stream,
                           const GradientFormulas& behind) {
  const Expr here = put_known(entry, stream);
  for (const char* name : {"mu", "m", "r"})
    if (here.contains(name)) return std::nullopt;
  const bool missing = (here.contains("g") && !behind.second) ||
                       (here.contains("k") && !behind.cross) ||
                       (here.contains("h") && !behind.aligned);
  if (missing) return std::nullopt;
  return cancelled(put_known(here, {}, behind));
}

}  // namespace

Unit make_unit(Formulas& calculus, const Network& network, const Layer& layer, const Place& place) {
  using X = Alike<Expr>;
  Network alone = network;
  alone.layers = {layer};
  const Counts counts{static_cast<double>(place.tokens), static_cast<double>(network.batch)};
  const X start{place.zero_mean ? Expr(0) : stream_mean(), stream_second(),
                place.tokens > 1 ? stream_cross() : Expr(0), 0};
  std::optional<Signal<X>> memory;
  if (network.memory_sequence > 0) {
    const X moments{0, exact(network.memory_second), exact(network.memory_cross), 0};
    memory = input_signal(calculus, moments, network.features, network.memory_sequence, counts);
  }
  Ledger<Formulas, X> ledger;
  ForwardPass<Formulas, X> forward(calculus, alone, true, memory, ledger);
  forward.add_scores({{0, score_second(), score_cross(), 0}});
  Signal<X> in = input_signal(calculus, start, place.width, place.tokens, counts);
  in.normalised = place.normalised;
  const Signal<X> out = forward.run(alone.layers, std::move(in));
  Gradient<X> gradient;
  gradient.x = {0, stream_grad_second(), out.tokens > 1 ? stream_grad_cross() : Expr(0), 0};
  Expr aligned = stream_aligned();
  if (place.is_head) {
    const Expr samples =
        calculus.size(out.tokens, "tokens") * calculus.size(network.batch, "batch");
    const auto loss = loss_gradient(calculus, network, out, samples);
    gradient.x = loss.logits;
    aligned = place.normalised ? Expr(0) : loss.hessian;
    if (place.normalised)
      calculus.assume("head",
                      "the gradient right before the head is without the part of the head's own "
                      "weights, which the norm there takes out");
  }
  BackwardPass<Formulas, X> backward(calculus, alone, ledger);
  const X scores{0, score_grad_second(), score_grad_cross(), 0};
  backward.add_scores({scores, scores, {0, 0, 0, 0}});
  LossGradient<X> loss;
  loss.hessian = aligned;
  const Gradient<X> back = backward.run(std::move(gradient), std::move(loss));
  Unit unit;
  unit.sites = sites_of(calculus, ledger.sites, place.is_head);
  unit.out = cleaned(calculus, out.x);
  unit.back = cleaned(calculus, back.x);
  unit.aligned = cancelled(calculus.without_abs(back.aligned));
  unit.width = out.width;
  unit.tokens = out.tokens;
  unit.normalised = out.normalised;
  return unit;
}

Expr put_known(const Expr& formula, const StreamFormulas& stream) {
  return substitute(formula, known_symbols(stream));
}

Expr put_known(const Expr& formula, const StreamFormulas& stream,
               const GradientFormulas& gradient) {
  std::map<std::string, Expr> known = known_symbols(stream);
  if (gradient.second) known.emplace("g", *gradient.second);
  if (gradient.cross) known.emplace("k", *gradient.cross);
  if (gradient.aligned) known.emplace("h", *gradient.aligned);
  return substitute(formula, known);
}

StreamFormulas through(const Unit& unit, const StreamFormulas& stream) {
  const auto known = [&](const Expr& entry) { return settled(put_known(entry, stream)); };
  return {known(unit.out.mean), known(unit.out.second), known(unit.out.cross)};
}

GradientFormulas back_through(const Unit& unit, const StreamFormulas& stream,
                              const GradientFormulas& gradient) {
  const auto known = [&](const Expr& entry) { return settled(put_known(entry, stream, gradient)); };
  return {known(unit.back.second), known(unit.back.cross), known(unit.aligned)};
}

StreamFormulas solve_forward(const std::vector<Unit>& block, const StreamFormulas& first) {
  const Alike<Expr> next = composed(block);
  StreamFormulas found;
  found.mean = solved(next.mean, "mu", first.mean);
  const auto put = [&](const Expr& entry) { return put_known(entry, found); };
  found.second = solved(put(next.second), "m", first.second);
  found.cross = solved(put(next.cross), "r", first.cross);
  return found;
}

// Blocks are counted from the last, j = count - 1 - l, so that the gradient goes the way of the
// index; where a factor is m(l + 1)/m(l) to some power, the stream itself is tried.
GradientFormulas solve_backward(const std::vector<Unit>& block,
                                const std::vector<StreamFormulas>& streams,
                                const GradientFormulas& last, const Expr& count) {
  const Expr index = Expr::symbol(kIndex);
  GradientFormulas next{stream_grad_second(), stream_grad_cross(), stream_aligned()};
  for (std::size_t u = block.size(); u-- > 0;) {
    const GradientFormulas behind = next;
    const auto put = [&](const Expr& entry) { return mapped(entry, streams[u], behind); };
    next = {put(block[u].back.second), put(block[u].back.cross), put(block[u].aligned)};
  }
  std::vector<Expr> ratios;
  if (streams.front().second)
    ratios.push_back(1 / substitute(*streams.front().second, {{kIndex, count - index}}));
  GradientFormulas found;
  const auto turned = [&](const Expr& entry) {
    return substitute(put_known(entry, {}, found), {{kIndex, count - 1 - index}});
  };
  const auto solve = [&](const std::optional<Expr>& from, const char* symbol,
                         const std::optional<Expr>& first) {
    auto formula = from ? solved(turned(*from), symbol, first, ratios) : std::nullopt;
    if (formula) formula = substitute(*formula, {{kIndex, count - 1 - index}});
    return formula;
  };
  found.aligned = solve(next.aligned, "h", last.aligned);
  found.second = solve(next.second, "g", last.second);
  found.cross = solve(next.cross, "k", last.cross);
  return found;
}

}  // namespace scalecalc::moments

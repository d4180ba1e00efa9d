#include "claims/sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "claims/engine.hpp"

namespace scalecalc::claims {
namespace {

/// Steele, Lea and Flood 2014: a counter through a mixing function.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(0x5ca1ecab1e + seed * 0xd1342543de82ef95u) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(next() % end); }

 private:
  std::uint64_t state_;
};

/// One number from each of `count` equal parts of (0, 1), in an order of its own.
std::vector<double> stratified(int count, SplitMix& random) {
  std::vector<double> shares;
  for (int k = 0; k < count; ++k) shares.push_back((k + random.uniform()) / count);
  for (std::size_t k = shares.size(); k > 1; --k) std::swap(shares[k - 1], shares[random.below(k)]);
  return shares;
}

/// The decimal fraction of four digits next to it, which is what a message shows.
Rational four_digits(double value) {
  if (value == 0) return 0;
  return Rational::parse(fmt::format("{:.3e}", value));
}

/// From 1/span to span, evenly in the logarithm.
double log_size(double share, double span) {
  return std::pow(span, 2 * share - 1);
}

Rational of_interval(const Domain& domain, const Rational& share) {
  const Expr point = domain.low + (domain.high - domain.low) * Expr(share);
  return point.is_number() ? point.number() : Rational::exactly(evaluate(point));
}

/// A share of (0, 1) as that of an interval: even, or crowded at both ends.
Rational interval_share(double share, bool wide) {
  const double even = std::clamp(share, 0.002, 0.998);
  if (!wide) return four_digits(even);
  const double half = std::abs(2 * share - 1);
  const Rational near = four_digits(std::pow(10.0, -1 - 6 * half));
  return share < 0.5 ? near : Rational(1) - near;
}

Rational value_at(const Domain& domain, double share, bool wide, std::int64_t largest) {
  const double span = wide ? 1e4 : 8;
  switch (domain.kind) {
    case Domain::Kind::positive: return four_digits(log_size(share, span));
    case Domain::Kind::real: {
      const double half = share < 0.5 ? 2 * share : 2 * share - 1;
      return four_digits((share < 0.5 ? -1 : 1) * log_size(half, span));
    }
    case Domain::Kind::integer: {
      const double most = std::min(wide ? 1000.0 : 16.0, static_cast<double>(largest));
      return static_cast<std::int64_t>(std::pow(most + 1, share));
    }
    case Domain::Kind::interval: break;
  }
  return of_interval(domain, interval_share(share, wide));
}

Rational power_of_ten(int exponent) {
  return Rational::parse(fmt::format("1e{}", exponent));
}

/// From the most telling to the farthest.
std::vector<Rational> edges_of(const Domain& domain, const SampleCounts& counts) {
  const std::int64_t largest = counts.largest_integer;
  std::vector<Rational> edges;
  if (domain.kind == Domain::Kind::integer) {
    for (const std::int64_t value :
         {1L, 2L, 3L, 64L, 1001L, 10L, 63L, 1000000L, 1000000000L, 4L, 5L})
      if (value <= largest) edges.emplace_back(value);
  } else if (domain.kind == Domain::Kind::interval) {
    const Rational middle = of_interval(domain, {1, 2});
    for (const int exponent : {-3, -12, -6}) {
      edges.push_back(of_interval(domain, Rational(1) - power_of_ten(exponent)));
      edges.push_back(of_interval(domain, power_of_ten(exponent)));
      if (exponent == -3) edges.push_back(middle);
    }
    const Rational low = of_interval(domain, 0), high = of_interval(domain, 1);
    if (low < Rational(0) && Rational(0) < high && !middle.is_zero()) edges.emplace_back(0);
  } else {
    const bool real = domain.kind == Domain::Kind::real;
    if (real) edges.emplace_back(0);
    const std::vector<int> far = {6, -6, 0, 12, -12, 3, -3, 9, -9}, near = {3, -6, 0, -12, -3};
    for (const int exponent : counts.farthest ? far : near) {
      const Rational value = power_of_ten(exponent);
      if (real) edges.push_back(-value);
      edges.push_back(value);
    }
    edges.emplace_back(2);
  }
  return edges;
}

class Sampler {
 public:
  Sampler(const std::vector<SymbolDomain>& symbols, const SampleCounts& counts, std::uint64_t seed)
      : symbols_(symbols), counts_(counts), random_(seed) {}

  std::vector<Sample> run() {
    add_even(counts_.ordinary, false);
    add_even(counts_.wide, true);
    for (std::size_t which = 0; which < symbols_.size(); ++which) add_edges(which);
    for (int k = 0; k < counts_.corners && symbols_.size() > 1; ++k)
      k % 2 == 0 ? add_diagonal(static_cast<std::size_t>(k) / 2) : add_corner();
    return std::move(samples_);
  }

 private:
  void add_even(int count, bool wide) {
    std::vector<std::vector<double>> shares;
    for (std::size_t k = 0; k < symbols_.size(); ++k) shares.push_back(stratified(count, random_));
    for (int n = 0; n < count; ++n) {
      Sample sample{{}, !wide};
      for (std::size_t k = 0; k < symbols_.size(); ++k)
        sample.at[symbols_[k].first] =
            value_at(symbols_[k].second, shares[k][std::size_t(n)], wide, counts_.largest_integer);
      samples_.push_back(std::move(sample));
    }
  }

  Sample anywhere() {
    Sample sample{{}, false};
    for (const auto& [name, domain] : symbols_)
      sample.at[name] = value_at(domain, random_.uniform(), false, counts_.largest_integer);
    return sample;
  }

  void add_edges(std::size_t which) {
    const auto& [name, domain] = symbols_[which];
    const std::vector<Rational> edges = edges_of(domain, counts_);
    const auto count = std::min(edges.size(), static_cast<std::size_t>(counts_.edges));
    for (std::size_t k = 0; k < count; ++k) {
      samples_.push_back(anywhere());
      samples_.back().at[name] = edges[k];
    }
  }

  void add_corner() {
    Sample sample{{}, false};
    for (const auto& [name, domain] : symbols_) {
      const std::vector<Rational> edges = edges_of(domain, counts_);
      sample.at[name] = edges[random_.below(edges.size())];
    }
    samples_.push_back(std::move(sample));
  }

  /// Two symbols of a kind with the same value.
  void add_diagonal(std::size_t turn) {
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    for (std::size_t a = 0; a < symbols_.size(); ++a)
      for (std::size_t b = a + 1; b < symbols_.size(); ++b)
        if (symbols_[a].second.kind == symbols_[b].second.kind &&
            symbols_[a].second.kind != Domain::Kind::interval)
          pairs.emplace_back(a, b);
    if (pairs.empty()) return add_corner();
    const auto [a, b] = pairs[turn % pairs.size()];
    Sample sample = anywhere();
    sample.at[symbols_[b].first] = sample.at[symbols_[a].first];
    samples_.push_back(std::move(sample));
  }

  const std::vector<SymbolDomain>& symbols_;
  const SampleCounts& counts_;
  SplitMix random_;
  std::vector<Sample> samples_;
};

}  // namespace

std::vector<Sample> sample_points(const std::vector<SymbolDomain>& symbols,
                                  const SampleCounts& counts, std::uint64_t seed) {
  return Sampler(symbols, counts, seed).run();
}

std::string short_text(const Rational& value) {
  const std::string exactly = value.to_string();
  return exactly.size() <= 5 ? exactly : fmt::format("{:.6g}", value.to_double());
}

std::string to_string(const Values& at) {
  std::string text;
  for (const auto& [name, value] : at)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, short_text(value));
  return text;
}

Bindings in_double(const Values& at) {
  Bindings bindings;
  for (const auto& [name, value] : at) bindings[name] = value.to_double();
  return bindings;
}

}  // namespace scalecalc::claims

#include "claims/worst.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "claims/engine.hpp"

namespace scalecalc::claims {
namespace {

constexpr double no_room_known = std::numeric_limits<double>::infinity();
constexpr double farthest = 40;  ///< e^40 is 2e17

/// A symbol's value as a coordinate on the real line, and back.
class Coordinate {
 public:
  explicit Coordinate(const Domain& domain) : kind_(domain.kind) {
    if (kind_ != Domain::Kind::interval) return;
    low_ = evaluate(domain.low);
    high_ = evaluate(domain.high);
  }

  double of(double value) const {
    switch (kind_) {
      case Domain::Kind::positive:
      case Domain::Kind::integer: return std::log(value);
      case Domain::Kind::real: return std::asinh(value * real_scale);
      case Domain::Kind::interval: break;
    }
    return std::log((value - low_) / (high_ - value));
  }

  double at(double t) const {
    t = std::clamp(t, -farthest, farthest);
    switch (kind_) {
      case Domain::Kind::positive: return std::exp(t);
      case Domain::Kind::integer: return std::max(1.0, std::round(std::exp(t)));
      case Domain::Kind::real: return std::sinh(t) / real_scale;
      case Domain::Kind::interval: break;
    }
    const double inside = low_ + (high_ - low_) / (1 + std::exp(-t));
    const double least = std::nextafter(low_, high_), most = std::nextafter(high_, low_);
    return std::clamp(inside, least, most);
  }

 private:
  /// Values of a real symbol are even below 1/16, and logarithmic above.
  static constexpr double real_scale = 16;
  Domain::Kind kind_;
  double low_ = 0, high_ = 1;
};

using Direction = std::vector<double>;

/// Along each axis, along what is kept by x*y and by x/y, and one oblique to all of them.
std::vector<Direction> directions(std::size_t size) {
  std::vector<Direction> result;
  const auto both = [&](const Direction& d) {
    result.push_back(d);
    Direction back = d;
    for (double& x : back) x = -x;
    result.push_back(std::move(back));
  };
  for (std::size_t a = 0; a < size; ++a) {
    Direction axis(size, 0.0);
    axis[a] = 1;
    both(axis);
    for (std::size_t b = a + 1; b < size; ++b)
      for (const double sign : {1.0, -1.0}) {
        Direction oblique = axis;
        oblique[b] = sign;
        both(oblique);
      }
  }
  if (size > 2) both(Direction(size, 1.0));
  return result;
}

class PatternSearch {
 public:
  PatternSearch(const std::vector<SymbolDomain>& symbols, const Room& room,
                const SearchLimits& limits)
      : symbols_(symbols), room_(room), limits_(limits) {
    for (const auto& [name, domain] : symbols) coordinates_.emplace_back(domain);
  }

  Values run(const Values& start) {
    std::vector<double> at;
    for (std::size_t k = 0; k < symbols_.size(); ++k)
      at.push_back(coordinates_[k].of(start.at(symbols_[k].first).to_double()));
    double least = value(at);
    const std::vector<Direction> ways = directions(symbols_.size());
    double step = 1;
    while (step >= limits_.finest && spent_ < limits_.evaluations && least >= 0) {
      std::vector<double> best = at;
      for (const Direction& way : ways) {
        std::vector<double> next = at;
        for (std::size_t k = 0; k < next.size(); ++k) next[k] += step * way[k];
        const double there = value(next);
        if (!(there < least)) continue;
        least = there;
        best = std::move(next);
      }
      if (best == at) step /= 2;
      at = std::move(best);
    }
    return found_;
  }

 private:
  double value(const std::vector<double>& at) {
    ++spent_;
    Values values;
    for (std::size_t k = 0; k < symbols_.size(); ++k)
      values[symbols_[k].first] = Rational::exactly(coordinates_[k].at(at[k]));
    const double room = room_(values).value_or(no_room_known);
    if (found_.empty() || room < least_) {
      least_ = room;
      found_ = std::move(values);
    }
    return room;
  }

  const std::vector<SymbolDomain>& symbols_;
  const Room& room_;
  const SearchLimits& limits_;
  std::vector<Coordinate> coordinates_;
  int spent_ = 0;
  double least_ = no_room_known;
  Values found_;
};

/// By continued fractions, up to that denominator.
Rational nearest_fraction(double value, std::int64_t most) {
  double rest = std::abs(value);
  std::int64_t p = 1, q = 0, before_p = 0, before_q = 1;
  for (int step = 0; step < 24; ++step) {
    const double whole = std::floor(rest);
    if (whole > 1e12) break;
    const auto a = static_cast<std::int64_t>(whole);
    if (q > 0 && a > (most - before_q) / q) break;
    if (p > 0 && a > 0 && p > std::int64_t{1000000000000} / a) break;
    std::swap(p, before_p);
    std::swap(q, before_q);
    p += a * before_p;
    q += a * before_q;
    if (rest - whole < 1e-12) break;
    rest = 1 / (rest - whole);
  }
  if (q == 0) return Rational::exactly(value);
  return value < 0 ? -Rational(p, q) : Rational(p, q);
}

}  // namespace

Values least_room(const std::vector<SymbolDomain>& symbols, const Values& start, const Room& room,
                  const SearchLimits& limits) {
  return PatternSearch(symbols, room, limits).run(start);
}

std::vector<Values> simple_neighbours(const std::vector<SymbolDomain>& symbols, const Values& at) {
  std::vector<Values> result;
  const auto add = [&](const auto& simpler) {
    Values simple = at;
    bool inside = true;
    for (const auto& [name, domain] : symbols) {
      Rational& value = simple.at(name);
      value = simpler(value.to_double());
      inside = inside && domain.contains(value);
    }
    if (inside) result.push_back(std::move(simple));
  };
  for (const int digits : {2, 4, 6})
    add([digits](double value) {
      return Rational::parse(fmt::format("{:.{}e}", value, digits - 1));
    });
  for (const std::int64_t denominator : {1, 12, 100, 10000, 1000000})
    add([denominator](double value) { return nearest_fraction(value, denominator); });
  if (result.empty()) result.push_back(at);
  return result;
}

}  // namespace scalecalc::claims

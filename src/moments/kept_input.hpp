#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "moments/activation_moments.hpp"
#include "moments/calculus.hpp"
#include "moments/gradient.hpp"
#include "moments/weightless.hpp"

/// Of branches that hand on a part of their input: E x F of the input x and the output F, and back
/// E g' g of the gradients g' at the sum and g at the branch's start
/// (docs/theory/layers.md#kept-input).
namespace scalecalc::moments {

/// E x_t x_u about the means: what a branch has of its input where it begins.
template <class X>
WithInput<X> with_itself(const X& x) {
  using N = typename X::Number;
  using T = Token<N>;
  return {map(
              x,
              [&](const T& u) {
                return T{N(0), variance_of(u)};
              },
              [](const T& t, const T& u, const N& cross) { return N(cross - t.mean * u.mean); }),
          0};
}

/// E phi'(u) of each token, and of a pair the average of both.
template <class C, class X>
X mean_slopes(C& calculus, const typename C::Function& phi, const X& u) {
  using N = typename C::Number;
  using T = Token<N>;
  const auto slope = [&](const T& t) { return calculus.expectation(phi, Moment::slope_mean, t); };
  return map(
      u,
      [&](const T& t) {
        return T{N(0), slope(t)};
      },
      [&](const T& s, const T& t, const N&) { return N((slope(s) + slope(t)) / 2); });
}

/// Of Gaussian u, E x phi(u) about the means is E phi' of E x u (Stein's lemma). `slopes`:
/// mean_slopes; `in`: what phi was given.
template <class C, class X>
void input_through_activation(const X& slopes, const Signal<X>& in, Signal<X>& out) {
  std::vector<WithInput<X>> made = *in.with_inputs;
  for (WithInput<X>& one : made) {
    one.product = product(one.product, slopes);
    if constexpr (C::next_orders)
      one.left_out += std::fabs(in.kurtosis / 3 - 1) + in.spread.token_variance / 4;
  }
  out.with_inputs = std::move(made);
}

/// E s over (E s^2)^(1/2) of an s^2 that has 2/nu of relative variance and is Gamma distributed,
/// (2/nu)^(1/2) Gamma((nu + 1)/2)/Gamma(nu/2), and E 1/s over (E 1/s^2)^(1/2) from E 1/s^2 E s^2 =
/// nu/(nu - 2) of it.
double mean_root(double variance);
double mean_inverse_root(double inverse);

template <class T>
void push(Seldom<std::vector<T>>& stack, T top) {
  if (!stack) stack = std::vector<T>{};
  stack->push_back(std::move(top));
}
/// Empty: weights have been met.
template <class T>
std::optional<T> pop(Seldom<std::vector<T>>& stack) {
  if (!stack) return std::nullopt;
  std::optional<T> top = std::move(stack->back());
  stack->pop_back();
  if (stack->empty()) stack.reset();
  return top;
}

/// Of a x + b F.
template <class X>
Seldom<std::vector<WithInput<X>>> sum_of_inputs(const typename X::Number& a,
                                                const Seldom<std::vector<WithInput<X>>>& stream,
                                                const typename X::Number& b,
                                                const Seldom<std::vector<WithInput<X>>>& branch) {
  Seldom<std::vector<WithInput<X>>> made = stream ? stream : branch;
  if (!made) return made;
  for (std::size_t i = 0; i < made->size(); ++i) {
    WithInput<X>& one = (*made)[i];
    one.product = scaled(one.product, stream ? a : b);
    if (!stream || !branch) continue;
    one.product = sum(one.product, scaled((*branch)[i].product, b));
    one.left_out = std::max<double>(one.left_out, (*branch)[i].left_out);
  }
  return made;
}

/// Of the gradients of both ways.
template <class X>
Seldom<std::vector<WithSum<X>>> sum_of_sums(const Seldom<std::vector<WithSum<X>>>& skip,
                                            const Seldom<std::vector<WithSum<X>>>& branch) {
  if (!skip || !branch) return skip ? skip : branch;
  Seldom<std::vector<WithSum<X>>> made = skip;
  for (std::size_t i = 0; i < made->size(); ++i) {
    WithSum<X>& one = (*made)[i];
    one.product = sum(one.product, (*branch)[i].product);
    one.left_out = std::max<double>(one.left_out, (*branch)[i].left_out);
  }
  return made;
}
/// `factor` of a gradient, which has `along` of what its own part along a sum was.
template <class X>
void scale_sums(Seldom<std::vector<WithSum<X>>>& sums, const typename X::Number& factor,
                double along) {
  if (!sums) return;
  for (WithSum<X>& one : *sums) {
    one.product = scaled(one.product, factor);
    one.along *= along;
  }
}

/// phi' g of independent u and g: E phi' of E g' g. Of a part along phi(u), which knows u, it is
/// not known.
template <class C, class X>
void sums_through_activation(const C& calculus, const X& slopes, const ActivationRecord<X>& record,
                             const Gradient<X>& g, std::vector<WithSum<X>>& sums) {
  for (WithSum<X>& one : sums) {
    if constexpr (C::next_orders) {
      const double whole = std::fabs(values_of(calculus, one.product).second);
      const double known = std::fabs(one.along * g.aligned) * record.second;
      one.left_out += record.heavy + (whole > 0 ? std::min(1.0, known / whole) : 0);
    }
    one.product = product(one.product, slopes);
    one.along *= record.alignment;
  }
}

/// Both parts of a sum with what they have together, in equal halves, as through_sum takes them:
/// their scalar product varies by what is left of either beside the other.
struct SumParts {
  Alike<double> left, right;
  double width = 1;
};
inline SumParts as_independent(const Alike<double>& left, const Alike<double>& right,
                               const Alike<double>& together, double width) {
  const auto with_half = [&](const Alike<double>& x) {
    return Alike<double>{x.mean, x.second + together.second, x.cross + together.cross,
                         x.between + together.between};
  };
  const auto apart = [](const Alike<double>& x) { return x.second - x.mean * x.mean; };
  const double sizes = apart(left) * apart(right);
  const double square = sizes > 0 ? together.second * together.second / sizes : 0;
  const double free = 1 - std::min(square, 1.0);
  return {with_half(left), with_half(right),
          free > 0 ? width / free : std::numeric_limits<double>::infinity()};
}

/// E x F/E x^2 about the means.
inline double along_input(const Alike<double>& together, const Alike<double>& x) {
  const double size = x.second - x.mean * x.mean;
  return size > 0 ? together.second / size : 0;
}

}  // namespace scalecalc::moments

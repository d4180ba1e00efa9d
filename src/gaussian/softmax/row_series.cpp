#include "gaussian/softmax/row_series.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "gaussian/lane_sum.hpp"

namespace scalecalc::gaussian::softmax {
inline namespace SCALECALC_LANES_NAMESPACE {
namespace {

namespace vm = base::vector_math;
using vm::Real;

using Length = RowSeries::Length;

constexpr std::size_t kPowers = static_cast<std::size_t>(RowSeries::degree_of(Length::many)) + 1;
/// Of averages of (sum p p')^2, which have many more coefficients.
constexpr std::array<int, 3> kSquares = {8, 10, 13};
/// Of the overlap, and of its square.
constexpr double kMostOfFew = 1e-7, kMostLeftOut = 8e-7, kMostOfSquare = 1e-4;
/// What averages and the edges of the lattice leave, and what a sum may lack beside P2 by it.
constexpr double kLattice = 1e-8, kResolved = 1e-9;

/// Of scores of small variance v the powers up to this one leave v^6/720 or so of P2.
constexpr int kFewPowers = 5;
constexpr double kSmallVariance = 0.12;

/// Orders of Hermite polynomials in the scores of keys other than those that are looked at: parts
/// of a sum, falling. Each is another one, `before`, with one more `part`.
struct Parts {
  std::size_t before = 0;
  int part = 0, keys = 0, total = 0;
  double orders = 1;  ///< the product of k! over parts that are k times there
  int same = 0;       ///< how often the last part is there
};

/// A coefficient: of the polynomials of order `a` of key s (and `b` of key r), and of `parts`.
struct Kind {
  std::size_t parts = 0;
  int a = 0, b = 0;
  bool is_pair = false;  ///< of p_s p_r, else of p_s (in `once`) or its square (in `twice`)
};

/// All kinds up to a degree, by the power of the correlation that they come with, each power's to
/// whole vectors.
struct Kinds {
  int degree, squares;
  std::vector<Parts> parts{{}};
  std::vector<Kind> once, twice;
  std::array<std::size_t, kPowers + 1> once_from{}, twice_from{};

  Kinds(int highest, int highest_of_squares) : degree(highest), squares(highest_of_squares) {
    for (std::size_t at = 0; at < parts.size(); ++at)
      for (int part = 1; parts[at].total + part <= degree; ++part) {
        const Parts of = parts[at];
        if (of.keys > 0 && part > of.part) break;
        const int same = part == of.part ? of.same + 1 : 1;
        parts.push_back({at, part, of.keys + 1, of.total + part, of.orders * same, same});
      }
    for (std::size_t power = 0; power <= static_cast<std::size_t>(degree); ++power) {
      for (std::size_t at = 0; at < parts.size(); ++at) add(static_cast<int>(power), at);
      fill(once, once_from[power + 1]);
      fill(twice, twice_from[power + 1]);
    }
  }

 private:
  void add(int power, std::size_t at) {
    const int rest = power - parts[at].total;
    if (rest < 0) return;
    once.push_back({at, rest, 0, false});
    if (power > squares) return;
    twice.push_back({at, rest, 0, false});
    for (int a = 0; 2 * a <= rest; ++a) twice.push_back({at, a, rest - a, true});
  }
  /// To whole vectors, by kinds that no row has.
  static void fill(std::vector<Kind>& kinds, std::size_t& end) {
    while (kinds.size() % vm::lanes != 0) kinds.push_back({0, -1, 0, false});
    end = kinds.size();
  }
};

template <Length length>
const Kinds& made_kinds() {
  static const Kinds made(RowSeries::degree_of(length), kSquares[static_cast<std::size_t>(length)]);
  return made;
}
const Kinds& kinds_of(Length length) {
  switch (length) {
    case Length::few: return made_kinds<Length::few>();
    case Length::more: return made_kinds<Length::more>();
    default: return made_kinds<Length::many>();
  }
}

/// n (n-1) ... (n-k+1).
double falling(double n, int k) {
  double product = 1;
  for (int i = 0; i < k; ++i) product *= n - i;
  return product;
}

/// How many keys s, or pairs of s and r, and choices of other keys there are among n.
class Choices {
 public:
  explicit Choices(double n) {
    for (std::size_t keys = 0; keys < kPowers; ++keys) {
      const int others = static_cast<int>(keys);
      of_one_[keys] = n * falling(n - 1, others);
      of_two_[keys] = n * (n - 1) * falling(n - 2, others);
    }
  }
  double operator()(const Kind& kind, const Parts& parts) const {
    const auto keys = static_cast<std::size_t>(parts.keys);
    if (!kind.is_pair) return of_one_[keys] / parts.orders;
    return (kind.a == kind.b ? 1 : 2) * of_two_[keys] / parts.orders;
  }

 private:
  std::array<double, kPowers> of_one_, of_two_;
};

using Powers = std::array<double, kPowers>;

/// Sums over the kinds of each power up to a degree.
Powers sums(const std::vector<double>& a, const std::vector<double>& b,
            const std::array<std::size_t, kPowers + 1>& from, int degree) {
  Powers made{};
  for (std::size_t power = 0; power <= static_cast<std::size_t>(degree); ++power) {
    Real sum{};
    for (std::size_t at = from[power]; at < from[power + 1]; at += vm::lanes)
      sum += vm::load(&a[at]) * vm::load(&b[at]);
    made[power] = lane_sum(sum);
  }
  return made;
}

/// Sums over the points of a row, of what each kind is an average of.
class RowCoefficients {
 public:
  RowCoefficients(const Row& row, const std::vector<Parts>& parts, int degree)
      : row_(row),
        blocks_(row.blocks().size()),
        products_(room(0, parts.size() * blocks_)),
        inverse_(room(1, blocks_)) {
    for (std::size_t block = 0; block < blocks_; ++block) {
      const Row::Block& at = row.blocks()[block];
      inverse_[block] = vm::exp(-at.log_f);
      products_[block] = at.weight * vm::exp((row.keys() - 1.0) * at.log_f);
      for (std::size_t k = 1; k < parts.size(); ++k)
        if (parts[k].total <= degree)
          products_[k * blocks_ + block] = products_[parts[k].before * blocks_ + block] *
                                           inverse_[block] * h(0, block, parts[k].part);
    }
  }

  double of_key(const Kind& kind, int bump) const {
    return sum(kind, [&](std::size_t block) { return h(bump, block, kind.a); });
  }
  double of_pair(const Kind& kind) const {
    return sum(kind, [&](std::size_t block) {
      return h(1, block, kind.a) * h(1, block, kind.b) * inverse_[block];
    });
  }

 private:
  /// Kept from one row to the next: rows come by the dozen, and each would take 20 KB anew.
  static Real* room(std::size_t which, std::size_t count) {
    thread_local std::array<std::vector<Real>, 2> rooms;
    if (rooms[which].size() < count) rooms[which].resize(count);
    return rooms[which].data();
  }
  Real h(int bump, std::size_t block, int order) const {
    return vm::load(row_.h(bump, block, order));
  }
  template <class F>
  double sum(const Kind& kind, const F& of) const {
    Real total{};
    const Real* const product = &products_[kind.parts * blocks_];
    for (std::size_t block = 0; block < blocks_; ++block) total += product[block] * of(block);
    return lane_sum(total);
  }

  const Row& row_;
  std::size_t blocks_;
  Real* products_;  ///< by parts, then by block: of the weight, F^{n-1} and h_0k/F
  Real* inverse_;   ///< 1/F
};

/// sum of k b_k.
double slope_at_one(const Powers& b) {
  double total = 0;
  for (std::size_t k = 1; k < kPowers; ++k) total += static_cast<double>(k) * b[k];
  return total;
}
double total_of(const Powers& b) {
  double total = 0;
  for (const double each : b) total += each;
  return total;
}

/// The d-th derivative of sum b_k c^k.
double derivative(const Powers& b, int d, double c) {
  double total = 0;
  for (int k = static_cast<int>(kPowers) - 1; k >= d; --k)
    total = total * c + falling(k, d) * b[static_cast<std::size_t>(k)];
  return total;
}

}  // namespace

bool RowSeries::covers(double keys, Length length) {
  return keys > degree_of(length) + 2 || keys == std::floor(keys);
}

int RowSeries::degree_of(double tau2) {
  return tau2 < kSmallVariance ? kFewPowers : degree_of(Length::few);
}

RowSeries::RowSeries(double keys, double tau, double p2, Length length, int degree)
    : keys_(keys), tau_(tau), p2_(p2), length_(length), degree_(degree) {}

RowSeries::RowSeries(const Row& row, const SoftmaxOrders& orders, Length length)
    : RowSeries(row.keys(), row.tau(), orders.p2, length,
                std::min(row.terms(), kinds_of(length).degree)) {
  const Kinds& kinds = kinds_of(length);
  const RowCoefficients coefficients(row, kinds.parts, degree_);
  const Choices choices(keys_);
  const auto powers = static_cast<std::size_t>(degree_) + 1;
  const auto fill = [&](const std::vector<Kind>& of, std::size_t count, std::vector<double>& each,
                        std::vector<double>& all, const auto& coefficient) {
    each.resize(count);
    all.resize(count);
    for (std::size_t k = 0; k < count; ++k) {
      if (of[k].a < 0) continue;
      each[k] = coefficient(of[k]);
      all[k] = choices(of[k], kinds.parts[of[k].parts]) * each[k];
    }
  };
  fill(kinds.once, kinds.once_from[powers], once_, all_once_,
       [&](const Kind& kind) { return coefficients.of_key(kind, 1); });
  fill(kinds.twice, kinds.twice_from[powers], twice_, all_twice_, [&](const Kind& kind) {
    return kind.is_pair ? coefficients.of_pair(kind) : coefficients.of_key(kind, 2);
  });
  note_left_out(orders);
}

RowSeries RowSeries::between(std::span<const RowSeries* const> nodes,
                             std::span<const double> weights, double tau2,
                             const SoftmaxOrders& orders, double error) {
  const RowSeries& first = *nodes.front();
  RowSeries made(first.keys_, std::sqrt(tau2), orders.p2, first.length_, first.degree_);
  made.error_ = error;
  // Those of power k are tau^k times what is smooth in tau2. Each power's come in whole vectors.
  const Kinds& kinds = kinds_of(first.length_);
  std::vector<double> shares(weights.begin(), weights.end());
  for (std::size_t power = 0; power <= static_cast<std::size_t>(first.degree_); ++power) {
    const auto fill = [&](std::vector<double> RowSeries::*of, const auto& from) {
      std::vector<double>& to = made.*of;
      to.resize((first.*of).size());
      for (std::size_t at = from[power]; at < from[power + 1]; at += vm::lanes) {
        Real sum{};
        for (std::size_t k = 0; k < nodes.size(); ++k)
          sum += shares[k] * vm::load(&(nodes[k]->*of)[at]);
        vm::store(sum, &to[at]);
      }
    };
    fill(&RowSeries::once_, kinds.once_from);
    fill(&RowSeries::all_once_, kinds.once_from);
    fill(&RowSeries::twice_, kinds.twice_from);
    fill(&RowSeries::all_twice_, kinds.twice_from);
    for (std::size_t k = 0; k < nodes.size(); ++k) shares[k] *= made.tau_ / nodes[k]->tau_;
  }
  // What is left out is far below what the interpolation leaves of the sums that it would come of,
  // and goes as a power of the variance.
  const auto left_out = [&](LeftOut RowSeries::*of, double LeftOut::*which) {
    double log = 0;
    for (std::size_t k = 0; k < nodes.size(); ++k)
      log += weights[k] * std::log(nodes[k]->*of.*which);
    return std::exp(log);
  };
  for (const auto of : {&RowSeries::few_left_out_, &RowSeries::left_out_})
    made.*of = {left_out(of, &LeftOut::p2), left_out(of, &LeftOut::slope)};
  return made;
}

/// By the series of the row with itself at c = 1, whose overlap and slope are P2 and tau^2 A.
void RowSeries::note_left_out(const SoftmaxOrders& orders) {
  const Kinds& kinds = kinds_of(length_);
  const auto left_out = [&](int degree) {
    const Powers own = sums(once_, all_once_, kinds.once_from, degree);
    const double slope = tau_ * tau_ * orders.a;
    return LeftOut{std::max(p2_ - total_of(own), kResolved * p2_),
                   std::max(slope - slope_at_one(own), kResolved * slope)};
  };
  few_left_out_ = left_out(kFewPowers);
  left_out_ = left_out(degree_);
  if (length_ != Length::few) {
    const double p22 = orders.t2 - 1 + 2 * p2_;
    p22_left_out_ = std::max(
        p22 - total_of(sums(twice_, all_twice_, kinds.twice_from, kinds.squares)), kResolved * p22);
  }
}

std::optional<SoftmaxOverlaps> overlaps_by_series(const RowSeries& fewer, const RowSeries& more,
                                                  double correlation) {
  const double shared = fewer.keys_ / more.keys_, price = fewer.tau_ * more.tau_;
  if (fewer.keys_ == 1)
    return SoftmaxOverlaps{1 / more.keys_, 0, 0, 0, more.p2_ / more.keys_, kLattice + more.error_};
  const int degree = std::min(fewer.degree_, more.degree_);
  const RowSeries::LeftOut &out_of_fewer = fewer.left_out(degree),
                           &out_of_more = more.left_out(degree);
  const double size = std::fabs(correlation);
  double power = 1;
  for (int k = 0; k < degree; ++k) power *= size;
  const double left = size * power * std::sqrt(shared * out_of_fewer.p2 * out_of_more.p2),
               left_slope =
                   power * std::sqrt(shared * out_of_fewer.slope * out_of_more.slope) / price;
  const double left_out = std::max(left, left_slope);
  const bool is_few = fewer.length_ == Length::few;
  const double most = is_few ? kMostOfFew : kMostLeftOut;
  // The overlap is about 1/n or more.
  if (!(left_out <= most * std::sqrt(fewer.p2_ * more.p2_))) return std::nullopt;
  const Kinds& kinds = kinds_of(fewer.length_);
  const Powers b = sums(fewer.all_once_, more.once_, kinds.once_from, degree);
  const double overlap = derivative(b, 0, correlation);
  if (!(left_out <= most * overlap)) return std::nullopt;
  const int highest = std::min(degree, kinds.squares);
  if (!is_few) {
    const double of_squares =
        std::pow(size, highest + 1) * shared * std::sqrt(fewer.p22_left_out_ * more.p22_left_out_);
    if (!(of_squares <= kMostOfSquare * overlap * overlap)) return std::nullopt;
  }
  const Powers squares = sums(fewer.all_twice_, more.twice_, kinds.twice_from, highest);
  // The variance of sum p p' by itself: to leave out the same powers of the mean's square.
  Powers variance = squares;
  for (std::size_t k = 0; k <= static_cast<std::size_t>(highest); ++k)
    for (std::size_t j = 0; j <= k; ++j) variance[k] -= b[j] * b[k - j];
  return SoftmaxOverlaps{overlap,
                         derivative(b, 1, correlation) / price,
                         derivative(b, 2, correlation) / price,
                         derivative(b, 3, correlation) / price,
                         overlap * overlap + derivative(variance, 0, correlation),
                         left_out / overlap + kLattice * (1 + 0.1 * std::cbrt(more.keys_)) +
                             fewer.error_ + more.error_};
}

}  // namespace SCALECALC_LANES_NAMESPACE
}  // namespace scalecalc::gaussian::softmax

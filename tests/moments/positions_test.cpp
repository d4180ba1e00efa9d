#include "moments/positions.hpp"

#include <cmath>
#include <vector>

#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

TEST_CASE("weights of a grid add up to all tokens and all pairs") {
  for (const std::int64_t tokens : {1, 2, 64, 65, 100, 1024}) {
    for (const bool all : {true, false}) {
      const auto made = make_positions(tokens, all);
      const auto T = static_cast<double>(tokens);
      CHECK(made->weight.sum() == near(T));
      CHECK(made->pairs.sum() == rounded(T * (T - 1), 4096, 1));
      CHECK(made->at[made->at.size() - 1] == tokens - 1);
      CHECK(made->all() == (all || tokens <= 64));
    }
  }
  CHECK(make_positions(1024, false)->at.size() < 64);
}

// In n^(-1/2) of the keys n of a row.
TEST_CASE("sums over a grid are exact for what is linear between its positions") {
  const auto grid = make_positions(300, false), all = make_positions(300, true);
  const auto root = [](int position) { return 1 / std::sqrt(position + 1.0); };
  const auto fill = [&](const std::shared_ptr<const Positions>& at) {
    PerPosition x = spread_over(Pairs{0, 1, 0, 0}, at, 2);
    for (Eigen::Index t = 0; t < at->at.size(); ++t) {
      x.second[t] = 1 + 3 * root(at->at[t]);
      for (Eigen::Index u = 0; u < at->at.size(); ++u)
        x.cross(t, u) = x.between(t, u) = 0.3 + 0.2 * (root(at->at[t]) + root(at->at[u]));
    }
    return x;
  };
  const PerPosition coarse = fill(grid), fine = fill(all);
  const PerPosition ones = spread_over(Pairs{0, 1, 1, 1}, grid, 2);
  CHECK(average(coarse).second == near(average(fine).second));
  CHECK(average(coarse).cross == near(average(fine).cross));
  CHECK(average(coarse).between == near(average(fine).between));
  CHECK(token_sum(coarse, ones, 300, 2) ==
        near(token_sum(fine, spread_over(Pairs{0, 1, 1, 1}, all, 2), 300, 2)));
}

// Chords in n^(-1/2) of positions a step h apart: h^2/24 of the mean of 1/n and of ln n.
TEST_CASE("of what falls as 1/n or grows as ln n a grid keeps the mean") {
  for (const double spacing : {Spacing::wide, Spacing::narrow}) {
    const auto grid = make_positions(2000, false, false, spacing);
    const auto all = make_positions(2000, true);
    const auto mean = [](const Positions& at, double (*f)(double)) {
      return (at.weight * (at.at.cast<double>() + 1).unaryExpr(f)).sum() / 2000;
    };
    const double allowed = spacing * spacing / 24;
    const auto inverse = [](double n) { return 1 / n; };
    const auto logarithm = [](double n) { return std::log(n); };
    CHECK(mean(*grid, inverse) == doctest::Approx(mean(*all, inverse)).epsilon(allowed));
    CHECK(std::fabs(mean(*grid, logarithm) - mean(*all, logarithm)) < allowed);
    CHECK(grid->step == spacing);
    CHECK(all->step == 0);
  }
}

TEST_CASE("alike tokens by position give what alike tokens give") {
  const Pairs x{0, 2, 0.5, 0.25}, g{0, 3, 1, 0.5};
  const auto positions = make_positions(20, true);
  const PerPosition at = spread_over(x, positions, 4), back = spread_over(g, positions, 4);
  CHECK(token_sum(at, back, 20, 4) == near(token_sum(x, g, 20.0, 4.0)));
}

TEST_CASE("kinds: class tokens are themselves, and the last stands for all others") {
  for (const std::int64_t count : {0, 1, 3})
    for (const std::int64_t tokens : {2, 3, 20}) {
      CAPTURE(count);
      CAPTURE(tokens);
      const Pairs x{0, 2, 0.5, 0.25};
      const auto C = static_cast<double>(count), P = static_cast<double>(tokens);
      const auto made = make_kinds(count, count + tokens);
      CHECK(made->weight.sum() == near(C + P));
      CHECK(made->pairs.sum() == near((C + P) * (C + P - 1)));
      const PerPosition alone = spread_over(x, make_kinds(0, tokens), 2);
      const PerPosition both = with_class_tokens(alone, C, P, 0.7);
      const Pairs averages = with_class_tokens(x, C, P, 0.7);
      CHECK(average(both).second == near(averages.second));
      CHECK(average(both).cross == near(averages.cross));
      CHECK(average(both).between == near(averages.between));
      CHECK(of_kind(both, Kind::others).second == near(x.second));
      CHECK(of_kind(both, Kind::others).cross == near(x.cross));
      CHECK(average(without_class_tokens(both)).second == near(x.second));
      CHECK(average(without_class_tokens(both)).between == near(x.between));
      const Pairs table{0, 0.3, 0, 0.3 / (C + P)};
      CHECK(average(position_table(both, 0.3, C + P)).second == near(table.second));
      CHECK(average(position_table(both, 0.3, C + P)).between == near(table.between));
      if (count == 0) continue;
      CHECK(of_kind(both, Kind::class_tokens).second == near(0.7));
      CHECK(of_kind(both, Kind::class_tokens).between == near(0.7));
      CHECK(of_first(both).second == near(0.7));
      const PerPosition first = on_kind(both, Kind::class_tokens, {0, 3, 3, 1});
      CHECK(token_sum(both, first, C + P, 2) == near(2 * 0.7 * 3 + 2 * 0.7));
    }
}

TEST_CASE(
    "the last token has an entry of its own: of a grid, and in front of others that are alike") {
  for (const std::int64_t tokens : {2, 20, 300}) {
    CAPTURE(tokens);
    const auto T = static_cast<double>(tokens);
    for (const auto& made : {make_positions(tokens, false, true), make_last_apart(tokens)}) {
      REQUIRE(made->last_apart);
      const Eigen::Index at = made->kinds ? 0 : made->at.size() - 1;
      CHECK(made->weight[at] == near(1));
      CHECK(made->weight.sum() == near(T));
      CHECK(made->pairs.sum() == near(T * (T - 1)));
      PerPosition x = spread_over(Pairs{0, 2, 0.5, 0.25}, made, 2);
      x.second[at] = 3;
      x.between(at, at) = 0.75;
      CHECK(of_last(x).second == near(3));
      CHECK(of_last(x).cross == near(3));
      CHECK(of_last(x).between == near(0.75));
      const PerPosition back = on_last(x, {0, 5, 5, 0.5});
      CHECK(average(back).second == near(5 / T));
      // 2 sequences, and both pairs of them: no other token has a gradient.
      CHECK(token_sum(x, back, T, 2) == near(2 * 3 * 5 + 2 * 0.75 * 0.5));
      CHECK(same_positions(back).between == near(0.5 / T));
      // Its vector is one of T of a table that two sequences share.
      const PerPosition none = spread_over(Pairs{0, 2, 0.5, 0.3 / T}, made, 2);
      const PerPosition own = with_own_positions(none, 0.3);
      CHECK(own.between(at, at) == near(0.3));
      if (made->all() || made->kinds) CHECK(average(own).between == near(0.3 / T));
    }
  }
  CHECK_FALSE(make_positions(300, false)->last_apart);
  const PerPosition alike = spread_over(Pairs{0, 2, 0.5, 0.25}, make_positions(20, true), 2);
  CHECK(with_own_positions(alike, 0.3).between(0, 0) == 0.25);
}

// At token t of feature i < d/2 sin(t w_i), of feature d/2 + i cos(t w_i).
TEST_CASE("a table of sinusoids has these means and products") {
  const std::int64_t tokens = 7, width = 12;
  std::vector<std::vector<double>> table;
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::vector<double> row(width);
    for (std::int64_t i = 0; i < width / 2; ++i) {
      const double angle = static_cast<double>(t) * std::pow(10000.0, -static_cast<double>(i) / 5);
      row[static_cast<std::size_t>(i)] = std::sin(angle);
      row[static_cast<std::size_t>(width / 2 + i)] = std::cos(angle);
    }
    table.push_back(row);
  }
  const auto product = [&](std::int64_t t, std::int64_t s) {
    double sum = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(width); ++i)
      sum += table[static_cast<std::size_t>(t)][i] * table[static_cast<std::size_t>(s)][i];
    return sum / static_cast<double>(width);
  };
  const Sinusoids of = sinusoids_of(tokens, width);
  const PerPosition each =
      sinusoid_table(of, spread_over(Pairs{0, 1, 0, 0}, make_positions(tokens, true), 2));
  double sum = 0, all = 0;
  std::vector<double> with_others;
  for (std::int64_t t = 0; t < tokens; ++t) {
    double mean = 0, row = 0;
    for (const double entry : table[static_cast<std::size_t>(t)])
      mean += entry / static_cast<double>(width);
    CHECK(each.mean[t] == rounded(mean, 256, 1));
    CHECK(product(t, t) == rounded(0.5, 256));
    CHECK(each.second[t] == 0.5);
    for (std::int64_t s = 0; s < tokens; ++s) {
      CHECK(each.between(t, s) == rounded(product(t, s), 256, 1));
      all += product(t, s);
      if (s == t) continue;
      CHECK(each.cross(t, s) == rounded(product(t, s), 256, 1));
      row += product(t, s);
    }
    with_others.push_back(row);
    sum += row;
  }
  const double pairs = 7 * 6, cross = sum / pairs;
  const Pairs alike = sinusoid_table(of, Pairs{});
  CHECK(alike.cross == rounded(cross, 1024, 1));
  CHECK(alike.between == rounded(all / 49, 1024, 1));
  CHECK(alike.mean == rounded(each.mean.mean(), 256, 1));
  // What is left of a pair's product when its tokens' own averages are taken away.
  double squares = 0;
  for (std::size_t t = 0; t < 7; ++t)
    for (std::size_t s = 0; s < 7; ++s) {
      if (s == t) continue;
      const double own = (with_others[t] + with_others[s]) / 6 - 2 * cross;
      const double rest =
          product(static_cast<std::int64_t>(t), static_cast<std::int64_t>(s)) - cross - own * 6 / 5;
      squares += rest * rest / pairs;
    }
  CHECK(pair_scatter(of) == rounded(squares, 1024, 1));
  CHECK(pair_scatter(sinusoids_of(2, width)) == 0);
}

// Of a grid, at row y and column x sin y w_i, cos y w_i, sin x w_i and cos x w_i.
TEST_CASE("a table of sinusoids of a grid has these means and products") {
  const std::int64_t rows = 3, columns = 4, tokens = rows * columns, width = 12;
  std::vector<std::vector<double>> table;
  for (std::int64_t t = 0; t < tokens; ++t) {
    table.emplace_back();
    for (const std::int64_t at : {t / columns, t % columns})
      for (std::int64_t i = 0; i < width / 4; ++i) {
        const double angle =
            static_cast<double>(at) * std::pow(10000.0, -static_cast<double>(i) / 3);
        table.back().push_back(std::sin(angle));
        table.back().push_back(std::cos(angle));
      }
  }
  const Sinusoids of = sinusoids_of(tokens, width, columns);
  double sum = 0;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::vector<double>& own = table[static_cast<std::size_t>(t)];
    double mean = 0;
    for (const double entry : own) mean += entry / static_cast<double>(width);
    CHECK(of.mean[t] == rounded(mean, 256, 1));
    for (std::int64_t s = 0; s < tokens; ++s) {
      double product = 0;
      for (std::size_t i = 0; i < own.size(); ++i)
        product += own[i] * table[static_cast<std::size_t>(s)][i] / static_cast<double>(width);
      CHECK(of.product(t, s) == rounded(product, 256, 1));
      if (s != t) sum += product;
    }
  }
  CHECK(sinusoid_table(of, Pairs{}).cross ==
        rounded(sum / static_cast<double>(tokens * (tokens - 1)), 1024, 1));
}

// A pool makes one token of all positions, which are kept.
TEST_CASE("sums over pooled positions are those of one token") {
  const Pairs x{0, 2, 2, 0.25}, g{0, 3, 3, 0.5};
  for (const std::int64_t tokens : {1, 2, 20}) {
    const auto positions = make_positions(tokens, true);
    const PerPosition at = spread_over(x, positions, 4), back = spread_over(g, positions, 4);
    CHECK(token_sum(at, back, 1, 4) == near(token_sum(x, g, 1.0, 4.0)));
  }
}

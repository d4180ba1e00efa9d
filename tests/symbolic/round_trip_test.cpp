#include <random>

#include "support.hpp"
#include "symbolic/functions.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

/// Random texts of the formula language: every operation and function, names that begin as
/// exponents of numbers do, decimals, rational powers of large denominators, towers of powers,
/// signs before everything. x, y and z are real, every other name is positive.
class RandomText {
 public:
  explicit RandomText(std::uint32_t seed) : random_(seed) {}

  std::string sum(int depth) {
    std::string text = product(depth);
    for (std::uint32_t more = below(3); more > 1; --more) {
      text += pick({" + ", " - ", "+", "-"}) + product(depth);
    }
    return text;
  }

  std::string pick(const std::vector<std::string>& choices) {
    return choices[below(static_cast<std::uint32_t>(choices.size()))];
  }

 private:
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_()) % bound; }

  std::string product(int depth) {
    std::string text = signed_power(depth);
    for (std::uint32_t more = below(4); more > 1; --more) {
      text += pick({"*", "*", "/"}) + signed_power(depth);
    }
    return text;
  }

  std::string signed_power(int depth) { return (below(8) == 0 ? "-" : "") + power(depth); }

  std::string power(int depth) {
    const std::string base = atom(depth);
    if (below(2)) return base;
    switch (below(6)) {
      case 0: return base + "^" + atom(depth - 1);
      case 1: return base + "^-" + whole(4);
      case 2: return base + "^(" + sum(depth - 1) + ")";
      default: return base + "^(" + (below(2) ? "-" : "") + fraction() + ")";
    }
  }

  std::string atom(int depth) {
    if (depth <= 0 || below(3) == 0) return below(2) ? number() : name();
    return below(3) ? "(" + sum(depth - 1) + ")" : call(depth - 1);
  }

  std::string call(int depth) {
    const std::vector<symbolic::Function>& all = symbolic::functions();
    const symbolic::Function& chosen = all[below(static_cast<std::uint32_t>(all.size()))];
    const int count = chosen.least_arguments + (chosen.most_arguments > 3 ? int(below(3)) : 0);
    std::string text = std::string(chosen.name) + "(";
    for (int k = 0; k < count; ++k) text += (k ? ", " : "") + sum(depth);
    return text + ")";
  }

  std::string name() {
    return pick({"x",   "y",     "z",        "N",    "M",   "pi",     "e",    "e2",
                 "E5",  "s2e0",  "s2e12e16", "_",    "_1",  "e_1",    "a1e5", "inf",
                 "nan", "Phi2x", "sqrt2",    "expx", "pi2", "lambda", "I"});
  }

  std::string whole(std::uint32_t bound) { return std::to_string(1 + below(bound)); }

  std::string fraction() {
    switch (below(5)) {
      case 0: return whole(9) + "/" + whole(9);
      case 1: return whole(200) + "/" + whole(100);
      case 2: return "1/" + whole(80);
      case 3: return whole(99) + "." + whole(99);
      default: return whole(7) + "/2";
    }
  }

  /// Small ones, those with primes past the bound of trial division (16411, 16417, 169483 are
  /// primes), products of two of these, decimals, and powers of ten.
  std::string number() {
    switch (below(9)) {
      case 0: return pick({"16411", "16417", "169483", "268435459", "269419387"});
      case 1: return whole(100000) + "." + whole(100000);
      case 2: return whole(99) + "e" + whole(14);
      case 3: return whole(9) + "." + whole(99) + "e-" + whole(14);
      case 4: return whole(999999999) + whole(999999999) + whole(999999999);
      default: return whole(60);
    }
  }

  std::mt19937 random_;
};

/// What `make` gives prints to a text that reads back as the same expression; false where it is
/// refused (1/0, (-2)^(1/2), a number too long), or its text is longer than a formula may be.
template <class Make>
bool comes_back(Make make) {
  Expr expr;
  std::string text;
  try {
    expr = make();
    text = to_string(expr);
  } catch (const Error&) {
    return false;
  }
  if (text.size() > 16384) return false;
  INFO(text);
  const std::string failure = message_of([&] {
    const Expr back = formula(text);
    CHECK_MESSAGE((back == expr), to_string(back));
    CHECK((to_string(back) == text));
  });
  CHECK_MESSAGE(failure.empty(), text, ": ", failure);
  return true;
}

}  // namespace

TEST_CASE("any formula prints to a text that reads back as the same expression") {
  RandomText random(1);
  int compared = 0;
  for (int round = 0; round < 12000; ++round) {
    const std::string text = random.sum(round % 4);
    INFO(text);
    compared += comes_back([&] { return formula(text); });
  }
  CHECK(compared > 8000);
}

TEST_CASE("what is made of formulas prints to a text that reads back as the same expression") {
  RandomText random(2);
  int compared = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::string text = random.sum(round % 3), other = random.sum(1);
    INFO(text, "   with ", other);
    compared += comes_back([&] { return differentiate(formula(text), "x"); });
    compared += comes_back([&] { return expand(formula(text)); });
    compared += comes_back([&] { return substitute(formula(text), {{"x", formula(other)}}); });
  }
  CHECK(compared > 4000);
}

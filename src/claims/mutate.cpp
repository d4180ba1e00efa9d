#include "claims/mutate.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include "claims/formula_text.hpp"
#include "claims/library.hpp"

namespace scalecalc::claims {
namespace {

using Kind = Node::Kind;
using Change = std::function<Node(const Node&)>;

constexpr int two = 2;

bool is_number(const Node& node, const Rational& value) {
  return node.kind == Kind::number && node.value == value;
}

/// A number, also one that is written as a negative or as a quotient of numbers.
std::optional<Rational> plain_number(const Node& node) {
  if (node.kind == Kind::number) return node.value;
  if (node.kind == Kind::negative) {
    const std::optional<Rational> value = plain_number(node.children[0]);
    return value ? std::optional(-*value) : std::nullopt;
  }
  if (node.kind != Kind::quotient) return std::nullopt;
  const std::optional<Rational> above = plain_number(node.children[0]),
                                below = plain_number(node.children[1]);
  if (!above || !below || below->is_zero()) return std::nullopt;
  return *above / *below;
}

Node binary(Kind kind, Node left, Node right) {
  Node node;
  node.kind = kind;
  node.column = left.column;
  node.children = {std::move(left), std::move(right)};
  return node;
}

Node doubled(const Node& node) {
  if (node.kind == Kind::number) return number_node(node.value * Rational(two), node.column);
  return binary(Kind::product, number_node(two, node.column), node);
}

Node negated(const Node& node) {
  if (node.kind == Kind::negative) return node.children[0];
  Node result;
  result.kind = Kind::negative;
  result.column = node.column;
  result.children = {node};
  return result;
}

Node plus(const Node& exponent, const Rational& step) {
  if (const std::optional<Rational> value = plain_number(exponent))
    return number_node(*value + step, exponent.column);
  const bool less = step.sign() < 0;
  return binary(less ? Kind::difference : Kind::sum, exponent,
                number_node(less ? -step : step, exponent.column));
}

/// base^(power + step), where the power is not written: 1 of a name, 1/2 of a root.
Node raised(const Node& base, const Rational& power) {
  return binary(Kind::power, base, number_node(power, base.column));
}

bool is_root(const Node& node) {
  return node.kind == Kind::call && node.text == "sqrt" && node.children.size() == 1;
}

/// Walks over a side and hands every changed copy of it to `found`.
class Walk {
 public:
  /// Whether the numbers of the side are exponents themselves: those of slopes and powers.
  Walk(const Node& side, bool of_exponents, std::function<void(Mutation, Node)> found)
      : side_(side), of_exponents_(of_exponents), found_(std::move(found)) {}

  void run() { visit(side_, {}, {}); }

 private:
  /// What is around the part that is looked at.
  struct Around {
    bool in_expectation = false, in_exponent = false, in_base = false;
  };
  using Path = std::vector<std::size_t>;

  static Node& at(Node& root, const Path& path) {
    Node* node = &root;
    for (const std::size_t index : path) node = &node->children[index];
    return *node;
  }

  void put(Mutation mutation, const Path& path, Node replacement) {
    Node changed = side_;
    at(changed, path) = std::move(replacement);
    found_(mutation, std::move(changed));
  }

  void put_exponents(const Path& path, const std::function<Node(const Rational&)>& with) {
    for (const auto& [mutation, step] :
         {std::pair{Mutation::quarter, Rational(1, 4)}, {Mutation::half, Rational(1, 2)}})
      for (const Rational& signed_step : {step, -step}) put(mutation, path, with(signed_step));
  }

  void visit(const Node& node, const Path& path, Around around) {
    change(node, path, around);
    const auto into = [&](std::size_t index, Around inside) {
      Path deeper = path;
      deeper.push_back(index);
      visit(node.children[index], deeper, inside);
    };
    around.in_base = false;
    switch (node.kind) {
      case Kind::expectation: around.in_expectation = true; break;
      case Kind::power: {
        Around base = around;
        base.in_base = true;
        into(0, base);
        around.in_exponent = true;
        into(1, around);
        return;
      }
      case Kind::call: return arguments(node, around, into);
      case Kind::list:
      case Kind::index:
      case Kind::text:
      case Kind::member: return;
      default: break;
    }
    for (std::size_t k = 0; k < node.children.size(); ++k) into(k, around);
  }

  /// Arguments of the library say what is looked at and are left alone; so are the variable of a
  /// form and the bracket in which it looks.
  template <class Into>
  void arguments(const Node& call, Around around, Into into) {
    if (library_function(call.text) != nullptr && call.primes == 0) return;
    const bool form = find_form(call.text) != nullptr && call.children.size() == 4;
    const bool bracket =
        form && (call.text == "root" || call.text == "largest" || call.text == "smallest");
    for (std::size_t k = form ? (bracket ? 3 : 1) : 0; k < call.children.size(); ++k) {
      Around inside = around;
      inside.in_base = is_root(call);
      into(k, inside);
    }
  }

  void change(const Node& node, const Path& path, const Around& around) {
    if (node.kind == Kind::number && !around.in_exponent) number(node, path, around);
    if (around.in_expectation) return;
    if (node.kind == Kind::power) exponent(node, path);
    if (is_root(node))
      put_exponents(path, [&](const Rational& step) {
        return raised(node.children[0], Rational(1, 2) + step);
      });
    if (node.kind == Kind::name && !around.in_base && !around.in_exponent && node.text != "pi")
      put_exponents(path, [&](const Rational& step) { return raised(node, Rational(1) + step); });
    if (node.kind == Kind::sum || node.kind == Kind::difference)
      put(Mutation::sign, path,
          binary(node.kind == Kind::sum ? Kind::difference : Kind::sum, node.children[0],
                 node.children[1]));
  }

  void number(const Node& node, const Path& path, const Around& around) {
    if (!node.value.is_zero()) put(Mutation::factor, path, doubled(node));
    if (of_exponents_ && !around.in_expectation)
      put_exponents(path, [&](const Rational& step) { return plus(node, step); });
  }

  void exponent(const Node& node, const Path& path) {
    const Node& base = node.children[0];
    if (is_number(base, 0) || is_number(base, 1)) return;
    Path deeper = path;
    deeper.push_back(1);
    put_exponents(deeper, [&](const Rational& step) { return plus(node.children[1], step); });
    if (!is_number(node.children[1], 0)) put(Mutation::sign, deeper, negated(node.children[1]));
  }

  const Node& side_;
  bool of_exponents_;
  std::function<void(Mutation, Node)> found_;
};

/// Whether a side is an exponent: a slope in depth, or a power of an update rule.
bool is_exponent(const Node& node, const std::vector<Declaration>& let) {
  if (mentions(node, "slope") || mentions(node, "family")) return true;
  if (node.kind == Kind::name)
    for (const Declaration& declaration : let)
      if (declaration.kind == Declaration::Kind::value &&
          std::find(declaration.names.begin(), declaration.names.end(), node.text) !=
              declaration.names.end())
        return is_exponent(declaration.value, {});
  return std::any_of(node.children.begin(), node.children.end(),
                     [&](const Node& child) { return is_exponent(child, let); });
}

bool is_order(Relation relation) {
  return relation != Relation::equal && relation != Relation::about;
}

Relation turned(Relation relation) {
  switch (relation) {
    case Relation::less: return Relation::greater;
    case Relation::at_most: return Relation::at_least;
    case Relation::greater: return Relation::less;
    case Relation::at_least: return Relation::at_most;
    default: break;
  }
  return relation;
}

class Mutants {
 public:
  explicit Mutants(const Claim& claim) : claim_(claim), original_(claim.assertion) {}

  std::vector<Mutant> run() {
    seen_.insert(assertion_text(original_));
    turn();
    // That two sides differ says nothing of how far: their numbers are not asserted.
    if (claim_.fails && !is_order(original_.relation)) {
      widen();
      return std::move(found_);
    }
    side(&Assertion::left, Mutant::Side::left);
    if (original_.written)
      digits();
    else
      side(&Assertion::right, Mutant::Side::right);
    return std::move(found_);
  }

 private:
  void add(Mutation mutation, Assertion assertion, Mutant::Side side, bool fails) {
    assertion.text = assertion_text(assertion);
    if (!seen_.insert((fails ? "not " : "") + assertion.text).second) return;
    found_.push_back({mutation, std::move(assertion), fails, side});
  }

  void turn() {
    Assertion assertion = original_;
    if (is_order(original_.relation)) {
      assertion.relation = turned(original_.relation);
      add(Mutation::turned, std::move(assertion), Mutant::Side::none, claim_.fails);
    } else if (claim_.fails) {
      seen_.clear();
      add(Mutation::turned, std::move(assertion), Mutant::Side::none, false);
    }
  }

  void widen() {
    if (!original_.within) return;
    Assertion assertion = original_;
    assertion.within->amount = assertion.within->amount * Rational(two);
    add(Mutation::tolerance, std::move(assertion), Mutant::Side::none, true);
  }

  void side(Node Assertion::*which, Mutant::Side side) {
    const Node& node = original_.*which;
    const Node& other = side == Mutant::Side::left ? original_.right : original_.left;
    const auto put = [&](Mutation mutation, Node changed) {
      Assertion assertion = original_;
      assertion.*which = std::move(changed);
      add(mutation, std::move(assertion), side, claim_.fails);
    };
    const bool exponents =
        is_exponent(original_.left, claim_.let) || is_exponent(original_.right, claim_.let);
    Walk(node, exponents, put).run();
    // Twice 0 and -0 are 0, and what is compared with 0 has no scale.
    if (is_number(node, 0) || is_number(other, 0)) return;
    put(Mutation::factor, doubled(node));
    if (side == Mutant::Side::right || is_order(original_.relation))
      put(Mutation::sign, negated(node));
  }

  /// The number on the right of ~= with the digits that it has.
  void digits() {
    const Written& written = *original_.written;
    const auto put = [&](Mutation mutation, const Rational& value) {
      Assertion assertion = original_;
      assertion.written->value = value;
      assertion.right = number_node(value, original_.right.column);
      add(mutation, std::move(assertion), Mutant::Side::right, claim_.fails);
    };
    if (is_exponent(original_.left, claim_.let))
      for (const auto& [mutation, step] :
           {std::pair{Mutation::quarter, Rational(1, 4)}, {Mutation::half, Rational(1, 2)}})
        for (const Rational& signed_step : {step, -step})
          put(mutation, written.value + signed_step);
    if (written.value.is_zero()) return;
    put(Mutation::factor, written.value * Rational(two));
    put(Mutation::sign, -written.value);
  }

  const Claim& claim_;
  const Assertion& original_;
  std::set<std::string> seen_;
  std::vector<Mutant> found_;
};

}  // namespace

std::vector<Mutant> mutants_of(const Claim& claim) {
  return Mutants(claim).run();
}

}  // namespace scalecalc::claims

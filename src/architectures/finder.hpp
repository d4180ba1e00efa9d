#pragma once

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "architectures/describe.hpp"
#include "architectures/solve.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::architectures {

/// The config while it is being found. What is settled is not changed any more.
class Finder {
 public:
  using Kind = Expression::Kind;
  using Pointer = Value::json_pointer;
  /// Of heads, those that most models have first.
  static constexpr int kCommonWidths[] = {64, 128, 96, 80, 256, 32, 192};

  Finder(const Family& family, int width) : family_(family), width_(width) { complete(); }

  /// Of a key alone, or an entry of a list that is one.
  std::optional<Pointer> place(const Expression& expression) const {
    if (expression.kind() == Kind::name) return Pointer("/" + expression.name());
    if (expression.name() != "[]") return std::nullopt;
    std::optional<Pointer> of = place(expression.operands()[0]);
    const Expression& index = expression.operands()[1];
    if (!of || index.kind() != Kind::constant) return std::nullopt;
    const Value at = index.evaluate(lookup());
    if (at.is_string()) return *of / at.get<std::string>();
    if (!at.is_number_integer()) return std::nullopt;
    const Value* list = complete_.contains(*of) ? &complete_.at(*of) : nullptr;
    const auto size = list == nullptr ? 0 : static_cast<std::int64_t>(list->size());
    const auto number = at.get<std::int64_t>();
    return *of /
           static_cast<std::size_t>(number < 0 ? std::max<std::int64_t>(0, size + number) : number);
  }

  void settle(const Pointer& place) {
    settled_.insert(place.to_string());
    if (product_) guessed_.insert(place.to_string());
  }
  /// The first product of two unknowns, which the width that is tried must divide.
  std::optional<double> product() const { return product_; }
  const Value& config() const { return config_; }
  Solution solution(std::size_t unsolved) const { return {config_, settled_, guessed_, unsolved}; }

  bool holds(const Fact& fact) const { return holds(fact.expression, fact.value); }

  /// Keys that the value hangs on and that may still change.
  std::set<std::string> unknowns(const Expression& expression) const {
    std::set<std::string> found;
    collect(expression, found);
    return found;
  }

  bool solve(const Fact& fact) {
    return attempt(fact.expression, fact.value, [&] {
      return fact.value.is_boolean() ? make_flag(fact.expression, fact.value.get<bool>())
                                     : make(fact.expression, fact.value, true);
    });
  }

  bool set(const Pointer& at, const Value& value) {
    if (settled_.count(at.to_string()) > 0) return false;
    const Value before = config_;
    const Pointer list = at.parent_pointer();
    try {
      if (!config_.contains(list) && complete_.contains(list) && complete_.at(list).is_array())
        config_[list] = complete_.at(list);
      config_[at] = value;
      complete();
      return true;
    } catch (const std::exception&) {
      config_ = before;
      complete();
      return false;
    }
  }

  /// A list as long as the entries that the file tells of.
  void resize(const Pointer& list, std::size_t size) {
    if (!complete_.contains(list) || !complete_.at(list).is_array()) return;
    Value items = complete_.at(list);
    while (items.size() > size) items.erase(items.size() - 1);
    while (items.size() < size) items.push_back(items.empty() ? Value(1) : items.back());
    set(list, items);
  }

 private:
  void complete() { complete_ = completed(family_.defaults, config_); }
  Lookup lookup() const {
    return [this](const std::string& key) -> const Value* {
      const auto found = complete_.find(key);
      return found == complete_.end() ? nullptr : &*found;
    };
  }

  Value value(const Expression& expression) const {
    try {
      return expression.evaluate(lookup());
    } catch (const Error&) {
      return Value();
    }
  }
  std::optional<double> number(const Expression& expression) const {
    const Value found = value(expression);
    if (!found.is_number()) return std::nullopt;
    return found.get<double>();
  }
  bool holds(const Expression& expression, const Value& wanted) const {
    const Value found = value(expression);
    return wanted.is_boolean() ? is_true(found) == wanted.get<bool>() : found == wanted;
  }

  void collect(const Expression& expression, std::set<std::string>& found) const {
    if (const auto at = place(expression)) {
      if (settled_.count(at->to_string()) == 0) found.insert(at->to_string());
      return;
    }
    for (const Expression& operand : expression.operands()) collect(operand, found);
  }

  template <class Change>
  bool attempt(const Expression& expression, const Value& wanted, Change change) {
    if (holds(expression, wanted)) return true;
    const Value before = config_;
    if (change() && holds(expression, wanted)) return true;
    config_ = before;
    complete();
    return false;
  }

  static Value of_number(double number) {
    if (number == std::floor(number) && std::fabs(number) < 1e15)
      return static_cast<std::int64_t>(number);
    return number;
  }

  bool make(const Expression& expression, double wanted, bool whole) {
    if (!std::isfinite(wanted) || (whole && wanted != std::floor(wanted))) return false;
    return make(expression, of_number(wanted), whole);
  }

  /// Gives the expression a value; `whole`: by whole numbers.
  bool make(const Expression& expression, const Value& wanted, bool whole) {
    return attempt(expression, wanted, [&] {
      if (const auto at = place(expression))
        return !(wanted.is_number() && wanted.get<double>() < 0) && set(*at, wanted);
      if (expression.kind() == Kind::choice) return make_choice(expression, wanted, whole);
      if (expression.kind() != Kind::call) return false;
      const std::vector<Expression>& operands = expression.operands();
      if (expression.name() == "[]" || expression.name() == "pair")
        return make(operands[0], wanted, whole);
      if (expression.name() == "len") return make_length(operands[0], wanted);
      if (!wanted.is_number()) return false;
      const double size = wanted.get<double>();
      if (expression.name() == "int")
        return make(operands[0], size, false) || by_halves(expression, size);
      if (operands.size() != 2) return by_halves(expression, size);
      return invert(expression, size, whole) || by_halves(expression, size);
    });
  }

  bool make_choice(const Expression& choice, const Value& wanted, bool whole) {
    const bool now = is_true(value(choice.operands()[0]));
    for (const bool taken : {now, !now}) {
      const Expression& branch = choice.operands()[taken ? 1 : 2];
      if (attempt(choice, wanted, [&] {
            return make_flag(choice.operands()[0], taken) && make(branch, wanted, whole) &&
                   make_flag(choice.operands()[0], taken);
          }))
        return true;
    }
    return false;
  }

  bool make_length(const Expression& list, const Value& wanted) {
    const auto at = place(list);
    if (!at || !wanted.is_number_integer()) return false;
    resize(*at, wanted.get<std::size_t>());
    return true;
  }

  /// One side of an operator, the other being as it is.
  bool invert(const Expression& expression, double wanted, bool whole) {
    const std::string& sign = expression.name();
    const Expression& left = expression.operands()[0];
    const Expression& right = expression.operands()[1];
    const std::set<std::string> free_left = unknowns(left), free_right = unknowns(right);
    if (sign == "*" && !free_left.empty() && !free_right.empty())
      return free_left != free_right && invert_product(expression, wanted);
    const auto a = number(left), b = number(right);
    if (!a || !b) return false;
    const auto either = [&](double of_left, double of_right) {
      return attempt(expression, of_number(wanted), [&] { return make(left, of_left, whole); }) ||
             attempt(expression, of_number(wanted), [&] { return make(right, of_right, whole); });
    };
    if (sign == "+") return either(wanted - *b, wanted - *a);
    if (sign == "-") return either(wanted + *b, *a - wanted);
    if (sign == "*") return either(wanted / *b, wanted / *a);
    if (sign == "/") return either(wanted * *b, *a / wanted);
    if (sign == "//") return either(wanted * *b, std::floor(*a / wanted));
    if (sign == "%") return wanted == 0 && invert_rest(expression, *a);
    if (sign == "**") return make(left, std::round(std::pow(wanted, 1 / *b)), whole);
    return false;
  }

  /// Of two unknowns: as many as there are of the width that is tried.
  bool invert_product(const Expression& product, double wanted) {
    if (!product_) product_ = wanted;
    if (std::fmod(wanted, width_) != 0) return false;
    return attempt(product, of_number(wanted), [&] {
      return make(product.operands()[1], width_, true) &&
             make(product.operands()[0], wanted / width_, true) &&
             make(product.operands()[1], width_, true);
    });
  }

  /// A number of common widths that the whole is a multiple of.
  bool invert_rest(const Expression& rest, double whole) {
    for (const int width : kCommonWidths)
      if (std::fmod(whole, width) == 0 && make(rest.operands()[1], whole / width, true))
        return true;
    return make(rest.operands()[1], 1, true);
  }

  /// The least whole number of the only unknown, on which the value grows.
  bool by_halves(const Expression& expression, double wanted) {
    const std::set<std::string> unknown = unknowns(expression);
    if (unknown.size() != 1) return false;
    const Pointer at(*unknown.begin());
    std::int64_t low = 0, high = std::int64_t{1} << 30;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (!set(at, middle)) return false;
      const auto found = number(expression);
      if (!found) return false;
      if (*found < wanted)
        low = middle + 1;
      else
        high = middle;
    }
    return set(at, low);
  }

  bool make_flag(const Expression& expression, bool wanted) {
    return attempt(expression, wanted, [&] {
      if (const auto at = place(expression))
        return set(*at, value(expression).is_number() ? Value(wanted ? 1 : 0) : Value(wanted));
      if (expression.operands().empty()) return false;
      const std::string& sign = expression.name();
      const Expression& left = expression.operands().front();
      const Expression& right = expression.operands().back();
      if (sign == "not") return make_flag(left, !wanted);
      if (sign == "and" || sign == "or") {
        if ((sign == "and") == wanted) return make_flag(left, wanted) && make_flag(right, wanted);
        return make_flag(right, wanted) || make_flag(left, wanted);
      }
      if (sign == "given") return !wanted && make_none(left);
      if (sign == "in") return make_member(left, right, wanted);
      return make_comparison(sign, left, right, wanted);
    });
  }

  bool make_none(const Expression& key) {
    const auto at = place(key);
    return at && set(*at, nullptr);
  }

  bool make_member(const Expression& item, const Expression& list, bool wanted) {
    const auto at = place(list);
    if (!at) {
      const Value known = value(list);
      return wanted && known.is_array() && !known.empty() && make(item, known[0], true);
    }
    Value items = value(list);
    if (!items.is_array()) items = Value::array();
    const Value one = value(item);
    if (wanted) {
      items.push_back(one);
    } else {
      items.erase(std::remove(items.begin(), items.end(), one), items.end());
    }
    return set(*at, items);
  }

  bool make_comparison(const std::string& sign, const Expression& left, const Expression& right,
                       bool wanted) {
    if (sign == "==" || sign == "!=") {
      if ((sign == "==") != wanted) return false;
      return make(left, value(right), true) || make(right, value(left), true);
    }
    if (!number(left) || !number(right)) return false;
    const double a = *number(left), b = *number(right);
    const auto either = [&](double of_left, double of_right) {
      return make(left, of_left, true) || make(right, of_right, true);
    };
    if (sign == ">") return wanted ? either(b + 1, a - 1) : either(b, a);
    if (sign == "<") return wanted ? either(b - 1, a + 1) : either(b, a);
    if (sign == ">=") return wanted ? either(b, a) : either(b - 1, a + 1);
    if (sign == "<=") return wanted ? either(b, a) : either(b + 1, a - 1);
    return false;
  }

  const Family& family_;
  int width_;
  Value config_ = Value::object(), complete_;
  std::set<std::string> settled_, guessed_;
  std::optional<double> product_;
};

}  // namespace scalecalc::architectures

#include "claims/scope.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.hpp"
#include "claims/engine.hpp"

namespace scalecalc::claims {
namespace {

std::vector<std::string> split_names(const std::string& names, const Place& place) {
  std::vector<std::string> result;
  std::size_t from = 0;
  for (;;) {
    const std::size_t comma = names.find(',', from);
    std::string name = names.substr(from, comma == std::string::npos ? comma : comma - from);
    name.erase(0, name.find_first_not_of(' '));
    name.erase(name.find_last_not_of(' ') + 1);
    if (!base::is_identifier(name) || name == "E" || name == "pi" || is_reserved(name) ||
        name.find("__") != std::string::npos)
      throw PlacedError(ErrorKind::input,
                        "'" + base::shortened(name, 40) + "' cannot be a name of its own",
                        place.at(),
                        "use letters, digits and single _; E and pi are taken, nan and inf are "
                        "reserved");
    result.push_back(name);
    if (comma == std::string::npos) return result;
    from = comma + 1;
  }
}

[[noreturn]] void wrong_normal(const Place& place) {
  throw PlacedError(ErrorKind::input,
                    "normal takes a mean, a variance and, of several, one "
                    "correlation",
                    place.at(),
                    "for example z = \"normal(0, q)\", or \"u, v\" = \"normal(0, q, c)\"");
}

Declaration gaussian(Declaration result, Node node) {
  if (node.kind == Node::Kind::call) {
    result.parameters = std::move(node.children);
  }
  const std::size_t given = result.parameters.size();
  if (given < 2 || given > 3 || !node.named.empty() || (given == 3 && result.names.size() < 2))
    wrong_normal(result.place);
  return result;
}

/// "normal(0, 1)[8]": the count is cut off before the formula is read.
std::pair<std::string, std::string> split_count(const std::string& text) {
  const std::size_t open = text.rfind('[');
  if (text.empty() || text.back() != ']' || open == std::string::npos) return {text, ""};
  return {text.substr(0, open), text.substr(open + 1, text.size() - open - 2)};
}

bool is_finite(const Expr& end) {
  try {
    return std::isfinite(evaluate(end));
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

bool is_reserved(const std::string& name) {
  static const std::set<std::string> words = {"nan",  "inf",  "infinity", "undefined",
                                              "none", "null", "true",     "false"};
  std::string small = name;
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return words.contains(small);
}

const Gaussian* Gaussians::find(const std::string& name) const {
  const auto found = std::find_if(variables.begin(), variables.end(),
                                  [&](const Gaussian& g) { return g.name == name; });
  return found == variables.end() ? nullptr : &*found;
}

Expr Gaussians::covariance(const Gaussian& a, const Gaussian& b) const {
  if (a.name == b.name) return a.variance;
  if (a.group != b.group) return 0;
  return a.variance * correlations[static_cast<std::size_t>(a.group)];
}

Expr Domain::symbol(const std::string& name) const {
  const bool positive = kind == Kind::positive || kind == Kind::integer ||
                        (kind == Kind::interval && (low.is_zero() || low.is_positive()));
  return Expr::symbol(name, positive ? Assumption::positive : Assumption::real);
}

bool Domain::contains(const Rational& value) const {
  switch (kind) {
    case Kind::positive: return value.sign() > 0;
    case Kind::real: return true;
    case Kind::integer: return value.sign() > 0 && value.is_integer();
    case Kind::interval: break;
  }
  return evaluate(low) < value.to_double() && value.to_double() < evaluate(high);
}

Declaration read_declaration(const std::string& names, const std::string& text,
                             const Place& place) {
  Declaration result;
  result.place = place;
  result.names = split_names(names, place);
  if (text.starts_with("normal(") || text.starts_with("normal (")) {
    const auto [call, count] = split_count(text);
    if (!count.empty()) result.count = parse_formula(count, place);
    return gaussian(std::move(result), parse_formula(call, place));
  }
  result.kind = Declaration::Kind::domain;
  if (text == "real") {
    result.domain.kind = Domain::Kind::real;
  } else if (text == "positive") {
    result.domain.kind = Domain::Kind::positive;
  } else if (text == "integer") {
    result.domain.kind = Domain::Kind::integer;
  } else if (text.starts_with("in (") || text.starts_with("in(")) {
    const Node call = parse_formula("in" + text.substr(text.find('(')), place);
    const auto bound = [&](std::size_t index) {
      ParseOptions options;
      options.where = place.at();
      const std::string inside = text.substr(text.find('(') + 1);
      const std::size_t comma = inside.find(',');
      const Expr end = parse(index == 0 ? inside.substr(0, comma)
                                        : inside.substr(comma + 1, inside.rfind(')') - comma - 1),
                             options);
      if (!is_finite(end))
        throw PlacedError(ErrorKind::input, "the ends of an interval are numbers", place.at(),
                          "for example c = \"in (-1, 1)\"; \"positive\" and \"real\" have no ends");
      return end;
    };
    if (call.kind != Node::Kind::call || call.children.size() != 2)
      throw PlacedError(ErrorKind::input, "an interval has two ends", place.at(),
                        "for example c = \"in (-1, 1)\"");
    result.domain.kind = Domain::Kind::interval;
    result.domain.low = bound(0);
    result.domain.high = bound(1);
    if (!(evaluate(result.domain.low) < evaluate(result.domain.high)))
      throw PlacedError(ErrorKind::input, "an empty interval", place.at(),
                        "for example c = \"in (-1, 1)\"");
  } else {
    result.kind = Declaration::Kind::value;
    result.value = parse_formula(text, place);
  }
  return result;
}

}  // namespace scalecalc::claims

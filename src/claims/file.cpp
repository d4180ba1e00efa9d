#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "claims/claim.hpp"
#include "claims/mutate.hpp"
#include "network/entry.hpp"

namespace scalecalc::claims {
namespace {

constexpr std::size_t most_points = 10000;

const std::vector<std::string>& claim_keys() {
  static const std::vector<std::string> all = {
      "name",   "assert",    "let",   "for",     "by",     "fails",    "note",   "condition",
      "source", "published", "truth", "finding", "within", "survives", "follows"};
  return all;
}

/// The lines of the file, to tell where a text begins between its quotes.
class Lines {
 public:
  Lines(std::string_view text, std::string name) : name_(std::move(name)) {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      lines_.push_back(text.substr(0, end));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
  }

  Place inside(const TomlEntry& entry) const {
    Place place{name_, entry.line, entry.column};
    if (entry.line < 1 || static_cast<std::size_t>(entry.line) > lines_.size()) return place;
    const std::string_view line = lines_[static_cast<std::size_t>(entry.line) - 1];
    const std::string_view rest =
        line.substr(std::min(line.size(), static_cast<std::size_t>(entry.column) - 1));
    if (!rest.starts_with("\"\"\"") && !rest.starts_with("'''")) {
      place.column += 1;
    } else if (rest.size() > 3) {
      place.column += 3;
    } else {
      place.line += 1;
      place.column = 1;
    }
    return place;
  }

 private:
  std::string name_;
  std::vector<std::string_view> lines_;
};

/// A number of `for`, exactly as it is written.
Expr exact_value(const TomlEntry& entry) {
  if (std::holds_alternative<std::string>(entry.value) ||
      std::holds_alternative<std::int64_t>(entry.value) ||
      std::holds_alternative<double>(entry.value)) {
    const Expr value = formula_of(entry, {"pi"});
    if (!value.contains("pi")) return value;
  }
  throw Error(ErrorKind::input, "for takes numbers, got " + entry.type, entry.where,
              "for example for = { q = [0.25, 1, \"1/3\"] }");
}

std::vector<TomlEntry> elements_of(const TomlEntry& entry) {
  if (const auto* array = std::get_if<std::shared_ptr<const TomlArray>>(&entry.value))
    return (*array)->elements;
  return {entry};
}

/// The reasons of `survives`, by mutation.
std::vector<std::pair<std::string, std::string>> read_reasons(const TomlEntry& entry) {
  std::vector<std::pair<std::string, std::string>> reasons;
  for (const TomlEntry& one : table_of(entry)) {
    const std::vector<std::string>& known = mutation_names();
    if (std::find(known.begin(), known.end(), one.key) == known.end())
      throw unknown_name("mutation", one.key, known, one.where);
    if (text_of(one).find_first_not_of(" \t\n") == std::string::npos)
      throw Error(ErrorKind::input, "a mutation survives without a reason", one.where,
                  "say why the claim cannot tell it from the truth");
    reasons.emplace_back(one.key, text_of(one));
  }
  return reasons;
}

class ClaimReader {
 public:
  /// `before`: the names of the claims further up.
  ClaimReader(const TomlElement& element, const Lines& lines, std::vector<std::string> before)
      : element_(element), lines_(lines), before_(std::move(before)) {}

  std::vector<Claim> run() {
    for (const TomlEntry& entry : element_.entries) read(entry);
    if (!finding_.empty() || published_ || truth_) {
      if (!assertions_.empty())
        throw Error(ErrorKind::input, "a claim has either assert or published and truth",
                    element_.where, "remove one of them");
      assertions_.push_back(comparison());
    }
    if (assertions_.empty())
      throw Error(ErrorKind::input, "a claim without assert", element_.where,
                  "for example assert = \"E[relu(z)^2] == 1/2\"");
    if (assertions_.size() > 1 && !claim_.survives.empty())
      throw Error(ErrorKind::input, "survives beside several assertions", element_.where,
                  "give the one that it is about a [[claim]] of its own");
    std::vector<Claim> claims;
    for (std::size_t k = 0; k < assertions_.size(); ++k) {
      Claim claim = claim_;
      claim.assertion = assertions_[k].first;
      claim.place = assertions_[k].second;
      if (claim.name.empty())
        claim.name = claim.assertion.text;
      else if (assertions_.size() > 1)
        claim.name += fmt::format(" ({})", k + 1);
      claims.push_back(std::move(claim));
    }
    return claims;
  }
  /// As follows names it: without the number of an assertion.
  std::string name() const {
    return claim_.name.empty() ? assertions_.front().first.text : claim_.name;
  }

 private:
  using Placed = std::pair<Assertion, Place>;

  void read(const TomlEntry& entry) {
    const std::string& key = entry.key;
    if (key == "name") {
      claim_.name = text_of(entry);
    } else if (key == "condition") {
      claim_.condition = text_of(entry);
    } else if (key == "note") {
      claim_.note = text_of(entry);
    } else if (key == "source") {
      claim_.source = text_of(entry);
    } else if (key == "fails") {
      claim_.fails = boolean_of(entry);
    } else if (key == "assert") {
      for (const TomlEntry& one : elements_of(named(entry))) {
        const Place place = lines_.inside(one);
        assertions_.emplace_back(parse_assertion(text_of(named(one, key)), place), place);
      }
    } else if (key == "let") {
      for (const TomlEntry& one : table_of(entry))
        claim_.let.push_back(read_declaration(one.key, text_of(one), lines_.inside(one)));
    } else if (key == "for") {
      for (const TomlEntry& one : table_of(entry)) read_grid(one);
    } else if (key == "by") {
      for (const TomlEntry& one : elements_of(entry)) claim_.by.push_back(method(one));
    } else if (key == "finding") {
      finding_ = text_of(entry);
      if (finding_ != "right" && finding_ != "approximation" && finding_ != "wrong")
        throw unknown_name("finding", finding_, {"right", "approximation", "wrong"}, entry.where);
    } else if (key == "published") {
      published_ = named(entry);
    } else if (key == "truth") {
      truth_ = named(entry);
    } else if (key == "within") {
      within_ = text_of(entry);
    } else if (key == "survives") {
      claim_.survives = read_reasons(entry);
    } else if (key == "follows") {
      for (const TomlEntry& one : elements_of(entry))
        claim_.follows.push_back(premise(named(one, key)));
    } else {
      throw unknown_name("key of a claim", key, claim_keys(), entry.where);
    }
  }

  static TomlEntry named(TomlEntry entry, const std::string& key = "") {
    if (entry.key.empty()) entry.key = key;
    return entry;
  }

  static ClaimMethod method(const TomlEntry& entry) {
    const std::string name = text_of(named(entry, "by"));
    std::vector<std::string> names;
    for (const ClaimMethod known : {ClaimMethod::symbolic, ClaimMethod::quadrature,
                                    ClaimMethod::montecarlo, ClaimMethod::passes}) {
      if (to_string(known) == name) return known;
      names.push_back(to_string(known));
    }
    throw unknown_name("method", name, names, entry.where);
  }

  std::string premise(const TomlEntry& entry) const {
    const std::string& name = text_of(entry);
    const auto times = std::count(before_.begin(), before_.end(), name);
    if (times == 1) return name;
    if (times > 1)
      throw Error(ErrorKind::input, "follows names a claim that is there twice", entry.where,
                  "give each its own name: " + base::shortened(name));
    if (before_.empty())
      throw Error(ErrorKind::input, "follows names a claim further up, and there is none",
                  entry.where, "write the claims in the order in which they follow");
    throw unknown_name("claim further up", name, before_, entry.where);
  }

  void read_grid(const TomlEntry& entry) {
    if (is_reserved(entry.key))
      throw Error(ErrorKind::input, base::shortened(entry.key) + " cannot be a name of its own",
                  entry.where, "for example for = { q = [0.25, 1, 4] }");
    std::vector<Expr> values;
    for (const TomlEntry& one : elements_of(entry))
      values.push_back(exact_value(named(one, entry.key)));
    if (values.empty())
      throw Error(ErrorKind::input, "for has no value of " + base::shortened(entry.key),
                  entry.where, "for example for = { q = [0.25, 1, 4] }");
    points_ *= values.size();
    if (points_ > most_points)
      throw Error(ErrorKind::input, fmt::format("for has more than {} combinations", most_points),
                  entry.where, "give fewer values");
    claim_.grid.emplace_back(entry.key, std::move(values));
  }

  /// What published, truth and finding assert.
  Placed comparison() {
    if (!published_ || !truth_ || finding_.empty())
      throw Error(ErrorKind::input, "a published claim has published, truth and finding",
                  element_.where, "finding is right, approximation or wrong");
    claim_.finding = finding_;
    claim_.published_text = text_of(*published_);
    claim_.truth_text = text_of(*truth_);
    const Place at_published = lines_.inside(*published_), at_truth = lines_.inside(*truth_);
    claim_.published = parse_formula(claim_.published_text, at_published);
    claim_.truth = parse_formula(claim_.truth_text, at_truth);
    claim_.fails = finding_ == "wrong";
    Assertion assertion;
    if (finding_ == "approximation") {
      if (within_.empty())
        throw Error(ErrorKind::input, "an approximation needs its error", element_.where,
                    "add within = \"5%\"");
      const std::string text =
          claim_.published_text + " == " + claim_.truth_text + " within " + within_;
      assertion = parse_assertion(text, at_published);
      assertion.text = text;
      return {assertion, at_published};
    }
    std::optional<Written> written = written_number(claim_.published_text);
    // A whole number is meant as it stands; digits behind a point are where it was cut.
    if (written && written->value.is_integer() && written->unit == Rational(1)) written.reset();
    assertion = parse_assertion(
        claim_.truth_text + (written ? " ~= " : " == ") + claim_.published_text, at_truth);
    return {assertion, at_truth};
  }

  const TomlElement& element_;
  const Lines& lines_;
  std::vector<std::string> before_;
  Claim claim_;
  std::vector<Placed> assertions_;
  std::optional<TomlEntry> published_, truth_;
  std::string finding_, within_;
  std::size_t points_ = 1;
};

}  // namespace

ClaimFile read_claims(std::string_view toml, const std::string& name) {
  const TomlTable root = parse_toml(toml, name, "claim file");
  const Lines lines(toml, base::shortened(name));
  ClaimFile file;
  const TomlEntry* claims = nullptr;
  for (const TomlEntry& entry : root) {
    if (entry.key == "title") {
      file.title = text_of(entry);
    } else if (entry.key == "claim") {
      claims = &entry;
    } else {
      throw unknown_name("key", entry.key, {"title", "claim"}, entry.where);
    }
  }
  if (claims == nullptr)
    throw Error(ErrorKind::input, "a claim file without claims", base::shortened(name),
                "begin each claim with [[claim]]");
  std::vector<std::string> names;
  for (const TomlElement& element : tables_of(*claims)) {
    ClaimReader reader(element, lines, names);
    std::vector<Claim> read = reader.run();
    names.push_back(reader.name());
    std::move(read.begin(), read.end(), std::back_inserter(file.claims));
  }
  return file;
}

}  // namespace scalecalc::claims

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/text_file.hpp"
#include "network/document.hpp"
#include "scalecalc/transfer.hpp"

namespace scalecalc {
namespace {

const std::vector<std::string>& number_keys() {
  static const std::vector<std::string> keys = {"multiplier", "std", "lr", "decay", "eps"};
  return keys;
}

class Reader {
 public:
  explicit Reader(const std::string& name) { result_.name = name; }

  Parametrization run(const TomlTable& root) {
    result_.base = "auto";
    for (const TomlEntry& entry : root) {
      if (entry.key == "base") {
        result_.base = base(entry);
      } else if (entry.key == "branch") {
        result_.branch = only_number(table(entry), "multiplier");
      } else if (entry.key == "attention") {
        result_.attention = only_number(table(entry), "scale");
      } else if (std::ranges::find(tensor_kind_names(), entry.key) != tensor_kind_names().end()) {
        result_.kinds.emplace_back(entry.key, numbers(table(entry)));
      } else {
        std::vector<std::string> keys = tensor_kind_names();
        keys.insert(keys.begin(), {"base", "branch", "attention"});
        throw unknown_name("key", entry.key, keys, entry.where);
      }
    }
    return std::move(result_);
  }

 private:
  static std::string base(const TomlEntry& entry) {
    const auto* name = std::get_if<std::string>(&entry.value);
    if (!name) throw wrong(entry, "the name of a parametrisation");
    const std::vector<std::string>& names = parametrization_names();
    if (std::ranges::find(names, *name) == names.end())
      throw unknown_name("parametrization", *name, names, entry.where);
    return *name;
  }

  /// Of a table that has one key.
  static std::optional<Exponents> only_number(const TomlTable& entries, const std::string& key) {
    std::optional<Exponents> number;
    for (const TomlEntry& entry : entries) {
      if (entry.key != key) throw unknown_name("key", entry.key, {key}, entry.where);
      number = exponents(entry);
    }
    return number;
  }

  static GivenNumbers numbers(const TomlTable& entries) {
    GivenNumbers given;
    for (const TomlEntry& entry : entries) member(given, entry) = exponents(entry);
    return given;
  }

  static std::optional<Exponents>& member(GivenNumbers& given, const TomlEntry& entry) {
    if (entry.key == "multiplier") return given.multiplier;
    if (entry.key == "std") return given.std;
    if (entry.key == "lr") return given.lr;
    if (entry.key == "decay") return given.decay;
    if (entry.key == "eps") return given.eps;
    throw unknown_name("key", entry.key, number_keys(), entry.where);
  }

  /// A product of powers of the ratios; a positive number is a constant at every size.
  static Exponents exponents(const TomlEntry& entry) {
    if (const auto* whole = std::get_if<std::int64_t>(&entry.value); whole && *whole > 0) return {};
    if (const auto* number = std::get_if<double>(&entry.value); number && *number > 0) return {};
    const auto* text = std::get_if<std::string>(&entry.value);
    if (!text)
      throw Error(ErrorKind::input, "'" + entry.key + "' must be a formula or a number above 0",
                  entry.where, "for example \"r_n^(-1/2)\", or 1");
    std::vector<std::string> symbols;
    for (std::size_t i = 0; i < growth_axes; ++i)
      symbols.push_back(ratio_symbol(static_cast<GrowthAxis>(i)));
    ParseOptions options;
    options.known_symbols = symbols;
    options.where = entry.where;
    const Expr formula = parse(*text, options);
    const auto law = power_law(formula, symbols);
    if (!law || !law->coefficient.is_positive())
      throw Error(ErrorKind::input, "'" + base::shortened(*text) + "' is no product of powers",
                  entry.where, "for example \"r_n^(-1/2)*r_L^-1\"");
    Exponents result;
    for (std::size_t i = 0; i < growth_axes; ++i)
      if (const auto found = law->exponents.find(symbols[i]); found != law->exponents.end())
        result[static_cast<GrowthAxis>(i)] = found->second;
    return result;
  }

  static const TomlTable& table(const TomlEntry& entry) {
    const auto* found = std::get_if<TomlTable>(&entry.value);
    if (!found) throw wrong(entry, "a table: [" + entry.key + "]");
    return *found;
  }
  static Error wrong(const TomlEntry& entry, const std::string& wanted) {
    return {ErrorKind::input, "'" + entry.key + "' must be " + wanted + ", not " + entry.type,
            entry.where};
  }

  Parametrization result_;
};

}  // namespace

const std::vector<std::string>& parametrization_names() {
  static const std::vector<std::string> names = {"standard",   "ntk",      "mup",
                                                 "mean-field", "spectral", "depth-mup",
                                                 "complete-p", "u-mup",    "auto"};
  return names;
}

Parametrization parse_parametrization(std::string_view toml, const std::string& name) {
  return Reader(name).run(parse_toml(toml, name, "parametrisation"));
}

Parametrization parametrization_from(const std::string& name_or_path, const std::string& where) {
  const std::vector<std::string>& names = parametrization_names();
  if (std::ranges::find(names, name_or_path) != names.end())
    return {name_or_path, name_or_path, {}, {}};
  if (!name_or_path.ends_with(".toml") && name_or_path.find('/') == std::string::npos)
    throw unknown_name("parametrization", name_or_path, names, where);
  return parse_parametrization(base::read_text_file(name_or_path, "parametrisation"), name_or_path);
}

}  // namespace scalecalc

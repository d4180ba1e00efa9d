#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "scalecalc/network.hpp"

/// The scalar fields of a ModelSpec, each declared once: model files, options of the command line,
/// claims and what is printed of a model read this list.
namespace scalecalc {

/// What a field holds. A formula is an Expr; names, and the "auto" of a scale, are text.
using FieldValue = std::variant<std::int64_t, double, bool, std::string, Expr>;

struct ModelField {
  enum class Type {
    integer,
    number,
    flag,
    name,     ///< of an enumeration, an activation, an optimizer, ...
    formula,  ///< in `symbols`, exact
    scale,    ///< a formula, or "auto": to be solved for
  };
  enum class Range {
    any,           ///< or checked against other fields
    size,          ///< 1..1000000
    size_or_none,  ///< 0: left out
    not_negative,
    positive,
    rate,  ///< [0, 1)
    part,  ///< [0, 1]
  };
  /// Where the help of a command that takes a model has the option.
  enum class Option {
    none,     ///< no option
    command,  ///< beside the command's own
    block,    ///< under "Model"
    detail,   ///< under "Model in detail"
  };

  std::string section, key;  ///< of model files; "gain.q" is q in the table gain
  std::string name;          ///< in claims and, with dashes, of the option; one for a kind
  std::string older;         ///< another name that claims and options take; empty: none
  unsigned kinds = 0;        ///< bit 1 << kind of every kind of model that has it
  Type type = Type::integer;
  Range range = Range::any;
  std::vector<std::string> symbols;  ///< of a formula
  Option option = Option::none;
  std::string placeholder, example, help;  ///< "D", "256", "features of the stream"
  /// Those that a name is one of, as far as this room knows them; empty: it is free.
  std::function<std::vector<std::string>()> names;
  std::function<FieldValue(const ModelSpec&)> get;
  /// Takes a value of the field's type; `set` is the way in.
  std::function<void(ModelSpec&, const FieldValue&, const std::string& where)> assign;
  /// Whether a model file says it: false where it is left out, or another key says it.
  std::function<bool(const ModelSpec&)> is_written;

  bool belongs_to(ModelSpec::Kind kind) const {
    return (kinds >> static_cast<unsigned>(kind) & 1U) != 0;
  }
  bool is_called(std::string_view asked) const {
    return asked == name || (!older.empty() && asked == older);
  }
  /// "heads", "init.scheme.std": as validate() and model_entries() call it.
  std::string full_name() const;
  /// "--kv-heads".
  std::string option_name() const;
  /// help, with "(default 64)" where a model of these defaults writes the field down and help does
  /// not tell of a default itself.
  std::string help_with_default(const ModelSpec& defaults) const;
  /// Throws Error(input) at `where` for a value of another type (an integer is a number and a
  /// formula too), and for an unknown name with the nearest. Ranges are validate()'s matter.
  void set(ModelSpec& spec, const FieldValue& value, const std::string& where) const;
};

/// Every field, in the order of a model file.
const std::vector<ModelField>& model_fields();

/// Null where a model of this kind has no field of that name.
const ModelField* find_field(std::string_view name, ModelSpec::Kind kind);
/// Throws Error(input) with the nearest name, or Error(usage) where only other kinds have it.
const ModelField& model_field(std::string_view name, ModelSpec::Kind kind,
                              const std::string& where);

/// Which fields were given, by full name, and where.
using GivenFields = std::map<std::string, std::string>;
/// What given fields say of others: defaults that follow (t5 does not scale the scores, bert's
/// normal is truncated, a bias variance asks for biases) unless these are given too. Throws
/// Error(input) for fields that contradict each other.
void complete_fields(ModelSpec& spec, const GivenFields& given);
/// Throws Error(input) for a given field that no layer of a list reads: a depth without an N in its
/// formulas, a norm where each layer names its own. Of other kinds every field has a reader, or
/// validate() refuses it.
void refuse_idle_fields(const ModelSpec& spec, const GivenFields& given);

}  // namespace scalecalc

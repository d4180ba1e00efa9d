#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "network/field_values.hpp"

namespace scalecalc {

/// One entry of the list of fields. `path` leads to the member: &ModelSpec::input,
/// &ModelSpec::Input::second. Its name is its key, integers are sizes, and every file has it,
/// unless said otherwise.
class Field {
 public:
  template <class... Path>
  Field(const char* section, const char* key, unsigned kinds, Path... path) {
    const auto member = [path...](auto& spec) -> auto& {
      return (spec.*....*path);
    };
    using Value = std::decay_t<decltype(member(std::declval<ModelSpec&>()))>;
    made_.section = section;
    made_.key = made_.name = key;
    made_.kinds = kinds;
    made_.type = field_type<Value>();
    if (made_.type == ModelField::Type::integer) made_.range = ModelField::Range::size;
    if (made_.type == ModelField::Type::scale) made_.symbols = {"N"};
    made_.get = [member](const ModelSpec& spec) { return to_field(member(spec)); };
    made_.assign = [member](ModelSpec& spec, const FieldValue& value, const std::string& where) {
      from_field(value, where, member(spec));
    };
    made_.is_written = [](const ModelSpec&) { return true; };
    if constexpr (requires { known_names(Value()); })
      made_.names = [] { return known_names(Value()); };
  }

  Field& named(const char* name, const char* older = "") {
    made_.name = name;
    made_.older = older;
    return *this;
  }
  Field& range(ModelField::Range range) {
    made_.range = range;
    return *this;
  }
  Field& symbols(std::vector<std::string> symbols) {
    made_.symbols = std::move(symbols);
    return *this;
  }
  Field& option(ModelField::Option shown, const char* placeholder, const char* example,
                const char* help) {
    made_.option = shown;
    made_.placeholder = placeholder;
    made_.example = example;
    made_.help = help;
    return *this;
  }
  Field& written_if(std::function<bool(const ModelSpec&)> is_written) {
    made_.is_written = std::move(is_written);
    return *this;
  }
  /// Another member changes with it; called before.
  Field& along(std::function<void(ModelSpec&)> change) {
    made_.assign = [change, assign = made_.assign](ModelSpec& spec, const FieldValue& value,
                                                   const std::string& where) {
      change(spec);
      assign(spec, value, where);
    };
    return *this;
  }
  /// Names are checked, or said otherwise, before they are kept; `names` are the usual ones.
  Field& checked(std::string (*check)(const std::string& name, const std::string& where),
                 std::function<std::vector<std::string>()> names) {
    made_.names = std::move(names);
    made_.assign = [check, assign = made_.assign](ModelSpec& spec, const FieldValue& value,
                                                  const std::string& where) {
      assign(spec, check(std::get<std::string>(value), where), where);
    };
    return *this;
  }

  operator ModelField() const { return made_; }

 private:
  ModelField made_;
};

}  // namespace scalecalc

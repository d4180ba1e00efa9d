#pragma once

#include <functional>
#include <string>
#include <vector>

#include "network/entry.hpp"
#include "scalecalc/network.hpp"

/// One value of a model file, read and written. Reading throws Error(input) at the entry's
/// position; what is written reads back to the same value, and an empty text is a key left out.
namespace scalecalc {

void read_value(const TomlEntry& entry, std::int64_t& value);
void read_value(const TomlEntry& entry, double& value);
void read_value(const TomlEntry& entry, bool& value);
void read_value(const TomlEntry& entry, std::string& value);
void read_value(const TomlEntry& entry, NormKind& value);
void read_value(const TomlEntry& entry, Distribution& value);
void read_value(const TomlEntry& entry, WeightNorm& value);
void read_value(const TomlEntry& entry, RotaryScaling& value);

std::string write_value(std::int64_t value);
std::string write_value(double value);
std::string write_value(bool value);
/// Left out when empty.
std::string write_value(const std::string& value);
std::string write_value(NormKind value);
std::string write_value(Distribution value);
std::string write_value(WeightNorm value);
std::string write_value(RotaryScaling value);
std::string write_value(const Expr& value);

template <class Value>
void read_value(const TomlEntry& entry, std::optional<Value>& value) {
  read_value(entry, value.emplace());
}
template <class Value>
std::string write_value(const std::optional<Value>& value) {
  return value ? write_value(*value) : std::string();
}

/// A TOML string with its quotes.
std::string quoted(const std::string& text);

/// One key of a table that describes an Owner: the kinds of owner that have it (a bit set), how it
/// is read, how it is written.
template <class Owner>
struct Key {
  std::string name;
  unsigned kinds = 0;
  std::function<void(Owner&, const TomlEntry&)> read;
  std::function<std::string(const Owner&)> write;
};

/// `field` is a generic lambda that returns a reference to the member.
template <class Owner, class Field>
Key<Owner> key(const char* name, unsigned kinds, Field field) {
  return {name, kinds,
          [field](Owner& owner, const TomlEntry& entry) { read_value(entry, field(owner)); },
          [field](const Owner& owner) { return write_value(field(owner)); }};
}

/// A formula in these symbols.
template <class Owner, class Field>
Key<Owner> formula_key(const char* name, unsigned kinds, Field field,
                       std::vector<std::string> symbols) {
  return {name, kinds,
          [field, symbols](Owner& owner, const TomlEntry& entry) {
            field(owner) = formula_of(entry, symbols);
          },
          [field](const Owner& owner) { return write_value(field(owner)); }};
}

/// The error for the key of an entry that is not one of `known`: unknown, with the nearest name, or
/// of another kind than `kind_name`.
Error unknown_key(const TomlEntry& entry, const std::vector<std::string>& known, bool is_elsewhere,
                  const std::string& kind_name);

/// The key of an entry. Throws Error(input) with the nearest name, or, where only other kinds have
/// it, saying that it does not belong to `kind_name`.
template <class Owner>
const Key<Owner>& find_key(const std::vector<Key<Owner>>& keys, unsigned kind,
                           const std::string& kind_name, const TomlEntry& entry) {
  std::vector<std::string> known;
  bool is_elsewhere = false;
  for (const Key<Owner>& key : keys) {
    const bool applies = (key.kinds & kind) != 0;
    if (entry.key == key.name && applies) return key;
    if (entry.key == key.name) is_elsewhere = true;
    if (applies) known.push_back(key.name);
  }
  throw unknown_key(entry, known, is_elsewhere, kind_name);
}

}  // namespace scalecalc

#pragma once

#include <string>
#include <vector>

#include "network/document.hpp"
#include "scalecalc/symbolic.hpp"

/// Typed reading of one TOML value. Each throws Error(input) at the entry's position, saying what
/// came and what was expected.
namespace scalecalc {

std::int64_t integer_of(const TomlEntry& entry);
/// Finite; an integer will do.
double number_of(const TomlEntry& entry);
bool boolean_of(const TomlEntry& entry);
const std::string& text_of(const TomlEntry& entry);
const TomlTable& table_of(const TomlEntry& entry);
/// Of [[key]].
const std::vector<TomlElement>& tables_of(const TomlEntry& entry);
/// A number, exact as written, or a formula in these symbols.
Expr formula_of(const TomlEntry& entry, const std::vector<std::string>& symbols);

}  // namespace scalecalc

#pragma once

#include <string>
#include <string_view>

/// Text of a user inside generated code.
namespace scalecalc::export_room {

/// A quoted string of Python, C or JSON alike: ASCII, with " \ and everything else escaped.
std::string string_literal(std::string_view text);
/// One line of ASCII without control characters, for comments.
std::string comment_text(std::string_view text);
/// The shortest text that reads back as the same double, always with a point or an exponent.
std::string number_literal(double value);
/// Letters, digits and _ of the text, for names of files and macros.
std::string identifier(std::string_view text);

}  // namespace scalecalc::export_room

#include "export/literals.hpp"

#include <fmt/format.h>

#include <cctype>

namespace scalecalc::export_room {
namespace {

bool is_plain(char c) {
  return c >= ' ' && c < 0x7f;
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

}  // namespace

std::string string_literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (is_plain(c)) {
      out += c;
    } else {
      out += '?';
    }
  }
  return out + '"';
}

std::string comment_text(std::string_view text) {
  std::string out;
  for (const char c : text) out += is_plain(c) ? c : '?';
  return out;
}

std::string number_literal(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string identifier(std::string_view text) {
  std::string out;
  for (const char c : text) out += is_word(c) ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) != 0) out = "_" + out;
  return out;
}

}  // namespace scalecalc::export_room

#pragma once

#include <cctype>
#include <string>
#include <vector>

namespace scalecalc::report {

/// What keeps a text from being well-formed XML with one root (no comments, CDATA, declarations);
/// empty when nothing does.
inline std::string xml_error(const std::string& text) {
  std::vector<std::string> open;
  bool seen_root = false;
  std::size_t at = 0;
  const auto name = [&] {
    const std::size_t begin = at;
    while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 ||
                                text[at] == '-' || text[at] == ':'))
      ++at;
    return text.substr(begin, at - begin);
  };
  const auto reference = [&] {
    for (const std::string entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
      if (text.compare(at, entity.size(), entity) != 0) continue;
      at += entity.size();
      return true;
    }
    return false;
  };
  const auto here = [&](const char* what) {
    return std::string(what) + " at " + std::to_string(at) + ": " + text.substr(at, 40);
  };
  while (at < text.size()) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c < 0x20 && c != '\n') return here("a control character");
    if (c == '&') {
      if (!reference()) return here("a lone &");
    } else if (c != '<') {
      if (open.empty() && c != '\n') return here("text outside the root");
      ++at;
    } else if (text.compare(at, 2, "</") == 0) {
      at += 2;
      const std::string closed = name();
      if (open.empty() || open.back() != closed || text[at] != '>') return here("a wrong end");
      open.pop_back();
      ++at;
    } else {
      ++at;
      const std::string element = name();
      if (element.empty()) return here("an element without a name");
      if (open.empty() && seen_root) return here("a second root");
      seen_root = true;
      std::vector<std::string> attributes;
      while (at < text.size() && text[at] == ' ') {
        ++at;
        const std::string attribute = name();
        for (const std::string& other : attributes)
          if (other == attribute) return here("an attribute twice");
        attributes.push_back(attribute);
        if (attribute.empty() || text.compare(at, 2, "=\"") != 0) return here("a wrong attribute");
        for (at += 2; at < text.size() && text[at] != '"';) {
          if (text[at] == '<') return here("< in an attribute");
          if (text[at] != '&') {
            ++at;
          } else if (!reference()) {
            return here("a lone &");
          }
        }
        ++at;
      }
      if (text.compare(at, 2, "/>") == 0) {
        at += 2;
      } else if (at < text.size() && text[at] == '>') {
        open.push_back(element);
        ++at;
      } else {
        return here("an element without an end");
      }
    }
  }
  if (!open.empty()) return "<" + open.back() + "> is not closed";
  return seen_root ? "" : "no element";
}

}  // namespace scalecalc::report

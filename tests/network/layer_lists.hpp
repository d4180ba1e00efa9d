#pragma once

#include <doctest/doctest.h>

#include <string>

#include "scalecalc/error.hpp"
#include "scalecalc/network.hpp"

/// Small models that are lists of layers.
namespace scalecalc::testing {

inline const std::string head = "[[layer]]\ntype = \"linear\"\nwidth = 10\n";

inline ModelSpec read(const std::string& layers, const std::string& model = "") {
  return parse_model("[model]\nkind = \"layers\"\nfeatures = 8\n" + model + layers, "m.toml");
}
inline Network built(const std::string& layers, const std::string& model = "") {
  return build_network(read(layers, model));
}

/// "WHERE | MESSAGE | HINT".
inline std::string error_of(const std::string& layers, const std::string& model = "") {
  try {
    read(layers, model);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK_FALSE(error.hint().empty());
    return error.where() + " | " + error.message() + " | " + error.hint();
  }
  return "no error";
}

inline void contains(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CAPTURE(part);
  CHECK(text.find(part) != std::string::npos);
}

inline std::string layer(const std::string& keys) {
  return "[[layer]]\n" + keys + "\n";
}

}  // namespace scalecalc::testing

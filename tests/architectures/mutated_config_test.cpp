#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "scalecalc/architectures.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc {
namespace {

/// Sizes of what is read are those of tensors, and what is refused is one line about the input.
void check_read(const std::string& text) {
  try {
    const LibraryModel model = parse_config(text, "config.json");
    for (const LibraryTensor& one : model.tensors) {
      if (!(one.std >= 0)) FAIL_CHECK(one.name);
      for (const std::int64_t size : one.shape)
        if (size < 0) FAIL_CHECK(one.name);
    }
    for (const std::string& tower : model.towers) {
      try {
        parse_config(text, "config.json", tower);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::input) FAIL_CHECK(error.what());
      }
    }
  } catch (const Error& error) {
    const std::string line = error.what();
    if (error.kind() != ErrorKind::input || line.find('\n') != std::string::npos) FAIL_CHECK(line);
  }
}

}  // namespace

TEST_CASE("any value in the place of any key is read or refused in words") {
  const nlohmann::json values = {nullptr,
                                 true,
                                 0,
                                 -1,
                                 1,
                                 7,
                                 2.5,
                                 1e300,
                                 "",
                                 "gelu",
                                 "no such thing",
                                 nlohmann::json::array(),
                                 {3, 2},
                                 {{1}},
                                 nlohmann::json::object()};
  for (const auto& entry : std::filesystem::directory_iterator(SCALECALC_MODELS_DIR)) {
    CAPTURE(entry.path().filename().string());
    std::ifstream file(entry.path());
    const nlohmann::json config = nlohmann::json::parse(file).at("config");
    for (const auto& [key, old] : config.items()) {
      for (const nlohmann::json& value : values) {
        nlohmann::json changed = config;
        changed[key] = value;
        CAPTURE(key);
        CAPTURE(value.dump());
        check_read(changed.dump());
      }
    }
  }
}

TEST_CASE("a config whose bytes are cut off, doubled or changed is read or refused in words") {
  const std::vector<std::string> pieces = {"",     "-",       "1e999",      "9223372036854775808",
                                           "null", "[",       "{",          "]",
                                           "}",    ",",       "\"",         "\\u0000",
                                           "\xff", "0",       "4294967296", "{\"a\": ",
                                           "NaN",  "[1, [2]]"};
  std::mt19937 random(5);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  for (const auto& entry : std::filesystem::directory_iterator(SCALECALC_MODELS_DIR)) {
    CAPTURE(entry.path().filename().string());
    std::ifstream file(entry.path());
    const std::string config = nlohmann::json::parse(file).at("config").dump();
    constexpr int mutants = 60;
    for (int i = 0; i < mutants; ++i) {
      std::string text = config;
      for (std::size_t times = 1 + below(2); times > 0 && !text.empty(); --times) {
        const std::size_t at = below(text.size()), count = std::min(below(12), text.size() - at);
        const std::string& piece = pieces[below(pieces.size())];
        switch (below(4)) {
          case 0: text.resize(at + 1); break;
          case 1: text.insert(at, text.substr(at, count)); break;
          case 2: text.replace(at, count, piece); break;
          default: {  // a value of its own in the place of one
            const std::size_t colon = text.find(':', at);
            if (colon == std::string::npos) break;
            const std::size_t end = text.find_first_of(",}", colon);
            if (end != std::string::npos) text.replace(colon + 1, end - colon - 1, piece);
          }
        }
      }
      CAPTURE(text);
      check_read(text);
    }
  }
}

TEST_CASE("any value in the place of a key inside a config is read or refused in words") {
  const nlohmann::json values = {nullptr, 0, -1, 2.5, 1e300, "x", {{"a", 1}}, {3, 2}};
  for (const auto& entry : std::filesystem::directory_iterator(SCALECALC_MODELS_DIR)) {
    CAPTURE(entry.path().filename().string());
    std::ifstream file(entry.path());
    const nlohmann::json config = nlohmann::json::parse(file).at("config");
    for (const auto& [key, inside] : config.items())
      for (auto at = inside.is_object() ? inside.begin() : inside.end(); at != inside.end(); ++at)
        for (const nlohmann::json& value : values) {
          nlohmann::json changed = config;
          changed[key][at.key()] = value;
          CAPTURE(changed.dump());
          check_read(changed.dump());
        }
  }
}

}  // namespace scalecalc

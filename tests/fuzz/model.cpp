#include "fuzz/fuzz.hpp"
#include "scalecalc/network.hpp"

/// Model files. What is understood is written as a complete file that reads back to the same.
namespace scalecalc::fuzz {

void one(std::string_view input) {
  ModelSpec spec;
  if (!accepts([&] { spec = parse_model(input, "model.toml"); })) return;
  const std::string text = model_text(spec);
  std::string back;
  hold(accepts([&] { back = model_text(parse_model(text, "written.toml")); }),
       "a written model file is refused", text);
  hold(back == text, "a written model file reads back as another", text);
}

}  // namespace scalecalc::fuzz

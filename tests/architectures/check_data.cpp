/// usage: check_data DATA.toml MODEL.json...: what the data of an architecture, as they are on the
/// disk, say of configs, beside what the library makes of them. Exit 1 where they differ.
#include <fstream>
#include <iostream>
#include <iterator>

#include "architectures/describe.hpp"
#include "compare.hpp"

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  using namespace scalecalc;
  bool differs = false;
  try {
    std::string name = argv[1];
    name = name.substr(name.rfind('/') + 1);
    const auto family =
        architectures::parse_family(text_of(argv[1]), name.substr(0, name.rfind('.')));
    for (int i = 2; i < argc; ++i) {
      const nlohmann::json theirs = nlohmann::json::parse(text_of(argv[i]));
      const LibraryModel ours = architectures::model_of(family, theirs.at("config"), argv[i]);
      const std::vector<std::string> lines = architectures::differences(ours, theirs);
      std::cout << argv[i] << ": " << ours.tensors.size() << " tensors, " << lines.size()
                << " differences" << (ours.spec ? "" : ", no model: " + ours.why_no_spec) << '\n';
      for (const std::string& line : lines) std::cout << "  " << line << '\n';
      differs = differs || !lines.empty();
    }
  } catch (const std::exception& error) {
    std::cout << error.what() << '\n';
    return 2;
  }
  return differs ? 1 : 0;
}

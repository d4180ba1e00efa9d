#include "fuzz/fuzz.hpp"
#include "graphs/archive.hpp"
#include "scalecalc/graphs.hpp"
#include "weights/safetensors.hpp"

/// Graphs of torch.export: an input that begins with '{' is the JSON of the graph alone, around
/// which the archive is made; any other is the whole archive.
namespace scalecalc::fuzz {

void one(std::string_view input) {
  std::string path;
  if (input.starts_with('{')) {
    path = file_of(testing::zip({{"m/models/model.json", std::string(input)}}), "model.pt2");
  } else {
    path = file_of(input, "model.pt2");
    accepts([&] { weights::Reader reader(path); });
  }
  accepts([&] { model_text(read_graph(path).spec); });
}

}  // namespace scalecalc::fuzz

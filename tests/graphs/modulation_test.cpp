#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <set>

#include "graphs/fixture.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/graphs.hpp"
#include "scalecalc/named_parameters.hpp"
#include "temporary_folder.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

GraphModel model_of(const Json& graph, const StdOf& std_of = plain) {
  const TemporaryFolder folder;
  const std::string path = folder / "model.pt2";
  write_bytes(path, zip(entries_of(graph, std_of)));
  return read_graph(path);
}

Json& nodes_of(Json& graph) {
  return graph["models/model.json"]["graph_module"]["graph"]["nodes"];
}

/// The one tensor that it gives; empty: it gives none, or several.
std::string output_of(const Json& node) {
  const Json& outputs = node["outputs"];
  return outputs.size() == 1 && outputs[0].contains("as_tensor")
             ? outputs[0]["as_tensor"]["name"].get<std::string>()
             : std::string();
}

/// The tensor that the operation at this place of those of this name gives.
std::string made_by(Json& graph, const std::string& operation, std::size_t place) {
  for (const Json& node : nodes_of(graph))
    if (node["target"].get<std::string>().find("aten." + operation + ".") != std::string::npos &&
        place-- == 0)
      return output_of(node);
  FAIL("no such operation");
  return {};
}

/// That operation reads `to` in the place of `from`.
void rewire(Json& graph, const std::string& operation, std::size_t place, const std::string& from,
            const std::string& to) {
  const std::string at = made_by(graph, operation, place);
  for (Json& node : nodes_of(graph)) {
    if (output_of(node) != at) continue;
    for (Json& input : node["inputs"])
      if (input["arg"].contains("as_tensor") && input["arg"]["as_tensor"]["name"] == from) {
        input["arg"]["as_tensor"]["name"] = to;
        return;
      }
  }
  FAIL("nothing is read there");
}

/// What is said of a graph that is changed so.
std::string refusal_of(const std::function<void(Json&)>& change) {
  Json graph = fixture("dit");
  change(graph);
  try {
    model_of(graph);
  } catch (const Error& error) {
    CHECK(error.exit_code() == 2);
    const std::string said = error.what();
    CHECK(said.find('\n') == std::string::npos);
    CHECK(said.find("modules.py:") != std::string::npos);
    return said.substr(0, said.rfind(" (", said.find("model.pt2")));
  }
  return {};
}

/// Of maps that modulate, those of a condition, a table of labels, and all others.
double by_role(const std::string& name, std::size_t rank) {
  if (rank < 2) return plain(name, rank);
  if (name.find("adaLN") != std::string::npos) return 0.1;
  if (name.starts_with("t_embedder")) return 0.05;
  return name.starts_with("y_embedder") ? 0.5 : 0.02;
}

}  // namespace

TEST_CASE("blocks that a time and a label modulate are a DiT") {
  const ModelSpec spec = model_of(fixture("dit"), by_role).spec;
  CHECK(spec.kind == ModelSpec::Kind::transformer);
  CHECK(spec.modulation == AdaptiveNorm::adaln);
  CHECK(spec.layers == 3);
  CHECK(spec.heads == 4);
  CHECK(spec.placement == Placement::pre);
  CHECK(!spec.norm_affine);
  CHECK(spec.bias);
  CHECK(spec.input.patch == 16);
  CHECK(spec.input.sinusoids);
  CHECK(spec.input.positions == 0);
  CHECK(spec.sequence == 16);
  CHECK(spec.vocab == 16);
  CHECK(spec.loss == Loss::mse);
  CHECK(spec.condition.features == 64);
  CHECK(spec.condition.second == 0.5);
  CHECK(spec.condition.classes == 11);
  CHECK(spec.condition.class_std == 0.5);
  CHECK(spec.init.std == 0.02);
  CHECK(to_string(spec.init.gain.at("modulation")) == "5");
  CHECK(to_string(spec.init.gain.at("condition")) == "5/2");
  const std::string text = model_text(spec);
  CHECK(model_text(parse_model(text, "model.toml")) == text);
}

// Of times in [0, 1000) and rates w_i the mean of cos(w_i (s - t))/2, here summed over a grid of
// both; it is off by the width of a cell, of order w^2/24 of it.
TEST_CASE("two times have as much in common as their waves do") {
  const double cross = model_of(fixture("dit")).spec.condition.cross;
  double sum = 0;
  constexpr int rates = 32, times = 4000;
  for (int i = 0; i < rates; ++i) {
    const double rate = std::pow(10000.0, -static_cast<double>(i) / rates);
    double sine = 0, cosine = 0;
    for (int t = 0; t < times; ++t) {
      sine += std::sin(rate * (t + 0.5) * 1000 / times) / times;
      cosine += std::cos(rate * (t + 0.5) * 1000 / times) / times;
    }
    sum += (sine * sine + cosine * cosine) / (2 * rates);
  }
  // Written in three digits.
  CHECK(std::fabs(cross / sum - 1) <= 0.005);
}

TEST_CASE("maps that modulate and start at 0 are adaLN-zero") {
  const ModelSpec spec = model_of(fixture("dit"), [](const std::string& name, std::size_t rank) {
                           return name.find("adaLN") != std::string::npos ? 0.0 : plain(name, rank);
                         }).spec;
  CHECK(spec.modulation == AdaptiveNorm::adaln_zero);
  CHECK(spec.init.gain.count("modulation") == 0);
}

TEST_CASE("every tensor of a DiT is named, but its fixed positions") {
  const ModelSpec spec = model_of(fixture("dit")).spec;
  std::set<std::string> known(spec.names.ignored.begin(), spec.names.ignored.end());
  CHECK(known == std::set<std::string>{"pos_embed"});
  for (const NamedTensor& tensor :
       name_parameters(build_network(spec), naming_of(spec, "torch")).tensors)
    known.insert(tensor.name);
  const Json whole = fixture("dit");
  for (const auto& [tensor, about] :
       whole["lists"]["data/weights/model_weights_config.json"]["config"].items()) {
    CAPTURE(tensor);
    CHECK(known.count(tensor) == 1);
  }
}

TEST_CASE("positions of a grid that are no such sines and cosines are a table") {
  Json graph = fixture("dit");
  const Json& weights = graph["lists"]["data/weights/model_weights_config.json"]["config"];
  Json& bytes =
      graph["data"]["data/weights/" + weights["pos_embed"]["path_name"].get<std::string>()];
  std::reverse(bytes.begin(), bytes.end());
  const ModelSpec spec = model_of(graph).spec;
  CHECK(!spec.input.sinusoids);
}

TEST_CASE("what modulates only in part is refused at its line") {
  CHECK(refusal_of([](Json&) {}).empty());
  // scaled_dot_product_attention's block: norm, 1 + s, product, shift; the gate of what leaves it.
  CHECK(refusal_of([](Json& graph) {
          rewire(graph, "add", 4, made_by(graph, "mul", 3), made_by(graph, "linear", 4));
        }) == "a condition modulates the norm of this branch, which has no gate at its end");
  CHECK(refusal_of([](Json& graph) {
          rewire(graph, "linear", 3, made_by(graph, "add", 3), made_by(graph, "mul", 2));
        }) == "a norm is modulated without a shift");
  CHECK(refusal_of([](Json& graph) {
          rewire(graph, "linear", 3, made_by(graph, "add", 3), made_by(graph, "layer_norm", 0));
        }) == "a condition modulates some norms, and none that this branch begins with");
  CHECK(refusal_of([](Json& graph) {
          rewire(graph, "linear", 18, made_by(graph, "add", 21), made_by(graph, "layer_norm", 6));
        }) == "a condition modulates the norms of branches, and not this one behind them");
  CHECK(refusal_of([](Json& graph) {
          rewire(graph, "mul", 2, made_by(graph, "add", 2), made_by(graph, "unsqueeze", 3));
        }) == "a vector of each sample is added to its tokens");
  CHECK(refusal_of([](Json& graph) {
          rewire(graph, "linear", 2, made_by(graph, "silu", 1), made_by(graph, "add", 1));
        }) == "the vector of each sample that modulates it is no map of a condition");
  CHECK(refusal_of([](Json& graph) {
          rewire(graph, "silu", 2, made_by(graph, "add", 1), made_by(graph, "linear", 1));
        }) == "it is modulated by another condition than what follows it");
  CHECK(refusal_of([](Json& graph) {
          rewire(graph, "silu", 0, made_by(graph, "linear", 0), made_by(graph, "cat", 0));
        }) == "the condition is no linear map of silu of another");
  CHECK(refusal_of([](Json& graph) {
          rewire(graph, "linear", 0, made_by(graph, "cat", 0), made_by(graph, "cos", 0));
        }) == "it reads the input 't', one number of each sample");
}

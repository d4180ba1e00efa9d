#include "scalecalc/graphs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/text.hpp"
#include "graphs/describe.hpp"
#include "graphs/reader.hpp"

namespace scalecalc {
namespace graphs {

void Understood::fail(std::size_t index, const std::string& what, const std::string& hint) const {
  const std::size_t node = part(index).node;
  if (node == nothing) throw wrong_graph(program, what, hint);
  throw wrong_node(program, program.nodes[node], what, hint);
}

double neat(double std, std::int64_t counted) {
  const auto n = static_cast<double>(std::max<std::int64_t>(counted, 1));
  const double error = std::clamp(2 / std::sqrt(2 * n), 1e-6, 0.01);
  double number = std;
  for (const int digits : {1, 2, 3, 4, 6}) {
    number = std::strtod(fmt::format("{:.{}g}", std, digits).c_str(), nullptr);
    if (std::fabs(number - std) <= error * std) break;
  }
  return number;
}

double neat_square(double std, std::int64_t counted) {
  const double root = neat(std, counted);
  return std::strtod(fmt::format("{:.6g}", root * root).c_str(), nullptr);
}

std::optional<Figure> pooled(const std::vector<Figure>& figures) {
  Figure all;
  double second = 0, first = 0;
  all.is_uniform = all.is_constant = true;
  for (const Figure& one : figures) {
    const auto n = static_cast<double>(one.counted);
    second += n * one.std * one.std;
    first += n * one.mean;
    all.counted += one.counted;
    all.is_uniform = all.is_uniform && one.is_uniform;
    all.is_constant = all.is_constant && one.is_constant && one.mean == figures[0].mean;
  }
  if (all.counted == 0) return std::nullopt;
  all.std = std::sqrt(second / static_cast<double>(all.counted));
  all.mean = first / static_cast<double>(all.counted);
  return all;
}

Figure base_of(const RoleFigures& weights) {
  const Figure first = *pooled(weights.begin()->second);
  std::vector<Figure> same;
  for (const auto& [role, figures] : weights) {
    const Figure own = *pooled(figures);
    const double error = 3 * std::sqrt(0.5 / static_cast<double>(own.counted) +
                                       0.5 / static_cast<double>(first.counted));
    if (std::fabs(own.std - first.std) <= error * first.std) same.push_back(own);
  }
  return *pooled(same);
}

NormKind norm_kind(const Part& norm) {
  switch (norm.norm) {
    case Part::Norm::layer: return NormKind::layernorm;
    case Part::Norm::rms: return NormKind::rmsnorm;
    case Part::Norm::batch: return NormKind::batchnorm;
    case Part::Norm::instance: return NormKind::instancenorm;
  }
  return NormKind::none;
}

namespace {

/// Gains that are not 1 and shifts that are not 0, which a model file has not.
void remark_norms(const Understood& known) {
  const auto look = [&](std::size_t index) {
    const Part& part = known.part(index);
    if (part.kind != Part::Kind::norm) return;
    const auto gain = known.figures.tensor(part.weight), shift = known.figures.tensor(part.bias);
    const double due = part.has_offset ? 0 : 1;
    const bool is_new =
        (!gain || (gain->is_constant && gain->mean == due)) && (!shift || shift->std == 0);
    if (!is_new)
      known.remarks.insert(
          "gains and shifts of norms are not those of a new model: they are taken "
          "as 1 and 0 here, which changes what follows each norm");
  };
  for_each_part(known.items, look);
  for_each_part(known.memory, look);
}

}  // namespace
}  // namespace graphs

bool is_graph(const std::string& path) {
  return weights::is_exported(path);
}

GraphModel read_graph(const std::string& path) {
  using namespace graphs;
  const weights::ZipArchive archive(path);
  const Program program = read_program(archive);
  const Constants constants(program, archive);
  Reader reader(program, constants);
  const PartGraph graph = reader.run();
  const Stacks stacks = stacks_of(program, graph);
  std::set<std::string> remarks = reader.remarks();
  const Figures figures(program, constants, archive);
  GraphModel model;
  model.source = base::shortened(path);
  model.library = program.torch_version.empty() ? "torch" : "torch " + program.torch_version;
  model.operations = program.nodes.size();
  if (stacks.items.empty()) throw wrong_graph(program, "the network computes nothing");
  std::set<std::string> of_transformer = remarks, of_list = remarks;
  const auto understood = [&](std::set<std::string>& remarks_of) {
    return Understood{program,      graph,         constants,        figures,
                      stacks.items, stacks.memory, stacks.condition, remarks_of};
  };
  const Understood transformer = understood(of_transformer);
  if (const auto spec = as_transformer(transformer)) {
    model.spec = *spec;
    remarks = of_transformer;
  } else {
    model.spec = as_layers(understood(of_list));
    remarks = of_list;
  }
  remark_norms(understood(remarks));
  if (!program.has_weights)
    remarks.insert(
        program.weights.pickled.empty()
            ? "the file holds no weights: stds are those of scheme lecun"
            : "the weights are pickled, and nothing is unpickled: stds are those of scheme "
              "lecun");
  else
    remarks.insert("stds are those of the weights in the file");
  model.remarks.assign(remarks.begin(), remarks.end());
  try {
    validate(model.spec, model.source);
  } catch (const Error& error) {
    throw Error(error.kind(), error.message(), model.source + " as a model file", error.hint());
  }
  return model;
}

}  // namespace scalecalc

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graphs/describe.hpp"
#include "graphs/listed_weights.hpp"
#include "graphs/repeats.hpp"
#include "network/model_keys.hpp"

namespace scalecalc::graphs {
namespace {

using Type = LayerSpec::Type;
using Kind = Part::Kind;

/// A layer and what its tensors are called: path suffix, part, and which of its tensors.
struct Named {
  enum class Of { map, norm, table } of = Of::map;
  std::string suffix;
  std::size_t part = nothing;
};
struct Made {
  LayerSpec spec;
  std::vector<Named> names;
};

bool is_one_tap(const LayerSpec& spec) {
  return spec.type == Type::conv2d && spec.kernel == 1 && spec.stride == 1 && spec.padding == 0 &&
         spec.groups == 1;
}

class ListWriter {
 public:
  explicit ListWriter(const Understood& known) : known_(known) {
    spec_ = default_spec(ModelSpec::Kind::layers);
  }

  ModelSpec run() {
    std::vector<Made> first;
    if (!known_.memory.empty()) first.push_back(encoder());
    begin(known_.items);
    std::vector<Made> layers =
        list({known_.items.begin() + static_cast<std::ptrdiff_t>(next_), known_.items.end()});
    // The encoder stands behind the embedding of what attends to it.
    layers.insert(layers.begin(), first.begin(), first.end());
    end(layers);
    fold(layers);
    return std::move(spec_);
  }

 private:
  /// What the memory is made of.
  Made encoder() {
    const std::vector<Item>& items = known_.memory;
    Made made;
    made.spec.type = Type::encoder;
    begin(items);
    std::vector<Made> inner = std::move(made_);
    made_.clear();
    spec_.memory.sequence = spec_.sequence;
    for (Made& one : list({items.begin() + static_cast<std::ptrdiff_t>(next_), items.end()}))
      inner.push_back(std::move(one));
    if (inner.empty())
      known_.fail(items[0].part, "attention reads an input that no layer has changed",
                  "cross_attention = true in a model file");
    put_inside(std::move(inner), made.spec.layers, ".", made);
    return made;
  }

  /// The input, the embedding and what is added to it.
  void begin(const std::vector<Item>& items) {
    const Part& root = known_.part(items[0].part);
    spec_.batch = known_.graph.batch;
    spec_.sequence = root.tokens;
    spec_.features = root.features;
    if (root.height > 1) spec_.height = root.height;
    next_ = 1;
    if (root.kind == Kind::input) {
      known_.remarks.insert(
          "the input is taken to be standard normal, independent between tokens: "
          "--second and --cross say otherwise");
      return;
    }
    spec_.input.kind = InputKind::tokens;
    known_.remarks.insert("words are taken to be drawn evenly: --zipf says otherwise");
    Made embedding;
    embedding.spec.type = Type::embedding;
    embedding.spec.width = root.features;
    embedding.spec.vocab = known_.program.tensors[root.weight].sizes[0];
    embedding.names.push_back({Named::Of::table, ".weight", items[0].part});
    if (const auto figure = known_.figures.tensor(root.weight))
      embedding.spec.std = neat(figure->std, figure->counted);
    for (; next_ < items.size() && items[next_].kind == Item::Kind::part; ++next_) {
      const Part& part = known_.part(items[next_].part);
      if (part.kind == Kind::function && part.function.factor && next_ == 1 &&
          *part.function.factor > 0)
        spec_.input.multiplier = *part.function.factor;
      else if (part.kind == Kind::table)
        table(part, items[next_].part, embedding);
      else
        break;
    }
    made_.push_back(std::move(embedding));
  }

  void table(const Part& part, std::size_t index, Made& embedding) {
    const auto figure = known_.figures.tensor(part.weight);
    if (part.is_segment) {
      spec_.input.segments = known_.program.tensors[part.weight].sizes[0];
      embedding.names.push_back({Named::Of::table, ".segment", index});
      return;
    }
    const double second = part.second ? *part.second
                          : figure    ? neat_square(figure->std, figure->counted)
                                      : 0.0;
    spec_.input.positions += second;
    if (!part.second) embedding.names.push_back({Named::Of::table, ".position", index});
    if (!part.second && second == 0)
      known_.remarks.insert("a table of positions that is zero, or not in the file, is left out");
  }

  /// The last linear map is the head, as is a convolution of one tap: one map of every pixel.
  void end(std::vector<Made>& layers) {
    layers.insert(layers.begin(), made_.begin(), made_.end());
    if (!layers.empty() && is_one_tap(layers.back().spec)) layers.back().spec.type = Type::linear;
    if (!layers.empty() && layers.back().spec.type == Type::linear) {
      const Part &head = known_.part(known_.items.back().part),
                 &root = known_.part(known_.items[0].part);
      if (root.weight != nothing &&
          known_.constants.target(root.weight) == known_.constants.target(head.weight))
        known_.remarks.insert(
            "the head's matrix is the embedding's, and one of its own here: gradients of the two "
            "are not added up");
      return;
    }
    spec_.vocab = known_.part(known_.graph.output).features;
    known_.remarks.insert(fmt::format(
        "the network does not end in a linear map: a head of {} classes is put behind it, and "
        "gradients are those of its loss",
        spec_.vocab));
  }

  std::vector<Made> list(const std::vector<Item>& items) {
    std::vector<Made> made;
    for (const Item& item : items) {
      switch (item.kind) {
        case Item::Kind::part: part(item, made); break;
        case Item::Kind::attention: made.push_back(attention(item)); break;
        case Item::Kind::gated: made.push_back(gated(item)); break;
        case Item::Kind::residual: made.push_back(residual(item)); break;
        case Item::Kind::concat: made.push_back(concat(item)); break;
      }
    }
    return made;
  }

  void part(const Item& item, std::vector<Made>& out) {
    const Part& part = known_.part(item.part);
    Made made;
    LayerSpec& spec = made.spec;
    switch (part.kind) {
      case Kind::linear:
      case Kind::convolution:
        spec.type = part.kind == Kind::linear ? Type::linear
                    : part.is_transposed      ? Type::conv_transpose2d
                                              : Type::conv2d;
        spec.output_padding = part.output_padding;
        spec.width = part.features;
        spec.kernel = part.kernel;
        spec.stride = part.stride;
        spec.padding = part.padding;
        spec.groups = part.groups;
        set_weights(known_, part, spec);
        made.names.push_back({Named::Of::map, "", item.part});
        break;
      case Kind::function:
        spec.type = Type::activation;
        spec.activation = activation_of(part.function);
        if (part.function.factor == 1.0) return;
        break;
      case Kind::norm:
        spec = norm(part);
        made.names.push_back({Named::Of::norm, "", item.part});
        break;
      case Kind::dropout:
        spec.type = Type::dropout;
        spec.dropout = part.rate;
        break;
      case Kind::pool:
        if (part.pool == Part::Pool::first)
          known_.fail(item.part, "it reads the first token alone, as no list of layers does",
                      "take the mean of the tokens, or describe the model as a transformer");
        spec.type = Type::pool;
        break;
      case Kind::max_pool:
        spec.type = Type::max_pool;
        spec.kernel = part.kernel;
        spec.stride = part.stride;
        spec.padding = part.padding;
        break;
      case Kind::upsample:
        spec.type = Type::upsample;
        spec.factor = part.factor;
        break;
      case Kind::table:
        known_.remarks.insert(
            "a table of parameters that is added to the stream is left out: "
            "overlaps between tokens are those without it");
        return;
      case Kind::modulation:
        known_.fail(
            item.part, "a condition modulates it, and its blocks are no transformer's",
            "known are blocks whose branches begin with a norm without gain, times 1 + s and "
            "shifted by t, and end times a gate (DiT)");
      case Kind::scale:
        known_.fail(item.part, "it multiplies by a parameter outside a branch",
                    "gains belong to norms, or to the end of a branch");
      default:
        known_.fail(item.part, "it is no layer of a list", "describe the model in a model file");
    }
    out.push_back(std::move(made));
  }

  LayerSpec norm(const Part& part) const {
    LayerSpec spec;
    spec.type = Type::norm;
    spec.norm = norm_kind(part);
    spec.eps = part.eps;
    spec.affine = part.weight != nothing;
    return spec;
  }

  Made attention(const Item& item) const {
    const Part& part = known_.part(item.attention);
    const std::int64_t width = known_.part(known_.part(item.q).inputs[0]).features;
    if (known_.part(item.o).features != width)
      known_.fail(
          item.o,
          fmt::format("the attention gives {} features of {}", known_.part(item.o).features, width),
          "attention gives as many features as it reads");
    Made made;
    LayerSpec& spec = made.spec;
    spec.type = Type::attention;
    spec.heads = part.heads;
    if (part.kv_heads != part.heads) spec.kv_heads = part.kv_heads;
    if (part.heads * part.head_width != width) spec.head_width = part.head_width;
    spec.causal = part.is_causal;
    spec.window = part.window;
    spec.softcap = part.softcap;
    spec.memory = item.is_cross;
    if (part.relative)
      known_.fail(item.attention, "learnt biases of scores stand in a list of layers",
                  "they are known of transformers whose blocks are alike");
    spec.qk_norm = item.q_norm != nothing;
    for (const std::size_t norm : {item.q_norm, item.k_norm}) {
      if (norm == nothing) continue;
      const Part& one = known_.part(norm);
      known_.remarks.insert(
          "norms of queries and keys have no gains here: gradients of these are left out");
      spec.qk_norm_all = !one.is_of_heads;
      spec.eps = one.eps;
      if (one.norm != Part::Norm::rms)
        known_.remarks.insert(
            "norms of queries and keys are taken as rms norms: the model's take the mean away");
    }
    if ((item.q_norm == nothing) != (item.k_norm == nothing))
      known_.fail(item.attention, "queries or keys alone are normalised");
    if (part.turns) {
      spec.rotary_base = part.turns->base;
      spec.rotary_fraction =
          static_cast<double>(part.turns->width) / static_cast<double>(part.head_width);
    }
    const double due = 1 / std::sqrt(static_cast<double>(part.head_width));
    if (std::fabs(part.score_scale / due - 1) > 1e-5)
      spec.scale = Expr(Rational::shortest(part.score_scale));
    if (item.mix_norm != nothing) {
      spec.norm = norm_kind(known_.part(item.mix_norm));
      spec.eps = known_.part(item.mix_norm).eps;
      spec.affine = known_.part(item.mix_norm).weight != nothing;
      made.names.push_back({Named::Of::norm, ".mix_norm", item.mix_norm});
    }
    share_stds(known_, spec,
               {{item.q, &spec.q_std},
                {item.k, &spec.k_std},
                {item.v, &spec.v_std},
                {item.o, &spec.o_std}});
    set_biases(known_, {item.q, item.k, item.v, item.o}, spec);
    for (const auto& [suffix, index] :
         {std::pair{".q", item.q}, {".k", item.k}, {".v", item.v}, {".o", item.o}})
      made.names.push_back({Named::Of::map, suffix, index});
    return made;
  }

  Made gated(const Item& item) const {
    Made made;
    LayerSpec& spec = made.spec;
    spec.type = Type::gated;
    spec.width = known_.part(item.gate).features;
    spec.activation = item.function.text == "x" ? "identity" : activation_of(item.function);
    share_stds(known_, spec, {{item.gate, &spec.gate_std}, {item.in, &spec.in_std}});
    set_biases(known_, {item.gate, item.in}, spec);
    made.names = {{Named::Of::map, ".gate", item.gate}, {Named::Of::map, ".in", item.in}};
    return made;
  }

  Made residual(const Item& item) {
    Made made;
    LayerSpec& spec = made.spec;
    spec.type = Type::residual;
    spec.skip = Expr(Rational::shortest(item.skip));
    spec.branch = Expr(Rational::shortest(item.branch));
    if (item.scale != nothing) {
      const Part& scale = known_.part(item.scale);
      const auto figure = known_.figures.tensor(scale.weight);
      const double value = figure ? figure->mean : 1;
      spec.branch = Expr(Rational::shortest(
          neat(value, figure && !figure->is_constant ? figure->counted : INT64_MAX / 2) *
          item.branch));
      spec.trainable = true;
      for (const std::int64_t size : known_.program.tensors[scale.weight].sizes)
        if (size > 1) spec.width = size;
      made.names.push_back({Named::Of::table, ".scale", item.scale});
    }
    put_inside(list(item.body), spec.layers, ".", made);
    put_inside(list(item.shortcut), spec.shortcut, ".shortcut.", made);
    if (spec.layers.empty()) known_.fail(item.part, "a branch that holds no layer is added");
    return made;
  }

  Made concat(const Item& item) {
    Made made;
    made.spec.type = Type::concat;
    put_inside(list(item.body), made.spec.layers, ".", made);
    if (made.spec.layers.empty()) known_.fail(item.part, "a tensor is joined with itself");
    if (item.is_behind)
      known_.remarks.insert(
          "a skip that is joined behind what follows it stands in front here: rows of the weights "
          "that read both are in another order");
    return made;
  }

  /// Layers that another holds, with their names.
  static void put_inside(std::vector<Made> inner, std::vector<LayerSpec>& out,
                         const std::string& prefix, Made& made) {
    std::map<Type, int> counts;
    for (Made& one : inner) {
      const std::string path =
          fmt::format("{}{}[{}]", prefix, type_name(one.spec), counts[one.spec.type]++);
      for (const Named& name : one.names)
        made.names.push_back({name.of, path + name.suffix, name.part});
      out.push_back(std::move(one.spec));
    }
  }

  static std::string type_name(const LayerSpec& spec) {
    const std::string text = write_layer(spec, "layer");
    const std::size_t from = text.find("type = \"") + 8;
    return text.substr(from, text.find('"', from) - from);
  }

  /// Layers that repeat become a repeat of N; names by the paths that all have then.
  void fold(std::vector<Made>& layers) {
    // The head stands by itself.
    const std::size_t end = layers.size() - (spec_.vocab == 0 ? 1 : 0);
    std::vector<LayerSpec> specs;
    for (const Made& made : layers) specs.push_back(made.spec);
    const Run run = longest_run(specs, end);
    FoundNames names(known_);
    std::map<Type, int> counts;
    const auto put = [&](const Made& made, const std::string& path) {
      for (const Named& name : made.names) {
        const std::string full = path + name.suffix;
        if (name.of == Named::Of::map) names.map(name.part, full);
        if (name.of == Named::Of::norm) names.norm(name.part, full);
        if (name.of == Named::Of::table) names.tensor(known_.part(name.part).weight, full);
      }
    };
    const auto next = [&](const LayerSpec& spec, std::map<Type, int>& of,
                          const std::string& prefix) {
      return fmt::format("{}{}[{}]", prefix, type_name(spec), of[spec.type]++);
    };
    for (std::size_t i = 0; i < layers.size();) {
      if (run.times > 1 && i == run.first) {
        spec_.layers = static_cast<std::int64_t>(run.times);
        spec_.layer_list.push_back(repeated(specs, run));
        known_.remarks.insert(
            "layers that repeat have the root mean square of their weights' stds");
        for (std::size_t time = 0; time < run.times; ++time) {
          std::map<Type, int> inner;
          for (std::size_t k = 0; k < run.period; ++k, ++i)
            put(layers[i], next(layers[i].spec, inner, fmt::format("repeat[0][{}].", time)));
        }
        continue;
      }
      const bool is_head = spec_.vocab == 0 && i + 1 == layers.size();
      put(layers[i], is_head ? "head" : next(layers[i].spec, counts, ""));
      spec_.layer_list.push_back(layers[i++].spec);
    }
    spec_.names = names.take(run.times > 1 ? std::vector<std::string>{"repeat[0]["}
                                           : std::vector<std::string>());
  }

  const Understood& known_;
  ModelSpec spec_;
  std::size_t next_ = 0;
  std::vector<Made> made_;
};

}  // namespace

ModelSpec as_layers(const Understood& known) {
  return ListWriter(known).run();
}

}  // namespace scalecalc::graphs
